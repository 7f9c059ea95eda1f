"""Matrix products on AMD processors with AVX-512, for which MKL takes its AVX2 kernels unless it is told otherwise.

A library of one function that answers "yes, this is Intel's" before MKL's own does makes it take the faster ones, see
docs/reproducing.md.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import torch
from rows import Row, Size, against, measured, row
from torch import Tensor

from llpe.measuring import Work
from llpe.models.operations import Attention, Edges

NODES = {"full": 2708, "quick": 2708, "tiny": 100}
SOURCE = "int mkl_serv_intel_cpu_true(void) { return 1; }"


def kernels(size: Size) -> Iterator[Row]:
    """The attention of the training rows to all nodes, forward and backward, in float32 and by one thread."""
    if not amd_with_avx512() or shutil.which("gcc") is None or not torch.backends.mkl.is_available():
        return
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "intel.so"
        command = ["gcc", "-shared", "-fPIC", "-x", "c", "-o", str(library), "-"]
        subprocess.run(command, input=SOURCE, text=True, check=True)
        plain = measured("kernels", "attention_step", n=NODES[size])
        with patch.dict(os.environ, {"LD_PRELOAD": str(library)}):
            told = measured("kernels", "attention_step", n=NODES[size])
    apart = abs(told["norm"] / plain["norm"] - 1)
    at, words = f"{NODES[size]} nodes, width 192, one thread", against(told["seconds"], plain["seconds"])
    ratio, words = plain["seconds"] / told["seconds"], f"{words}; results {apart:.0e} apart"
    yield row("attention step, MKL with AVX-512", at, "MKL's choice on AMD", ratio, 1, words, sound=apart < 1e-4)


def amd_with_avx512() -> bool:
    path = Path("/proc/cpuinfo")
    text = path.read_text() if path.exists() else ""
    return "AuthenticAMD" in text and "avx512f" in text


def attention_step(n: int) -> Work:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    operation, h = Attention(192, 192), torch.randn(n, 192)
    edges = Edges(None, rows=torch.arange(int(0.6 * n)))

    def step() -> Tensor:
        operation.zero_grad()
        operation(h, edges).square().sum().backward()
        return operation.project.weight.grad

    step()
    return Work(step, lambda gradient: {"norm": float(gradient.double().norm())})
