"""Where tensors are: on the CPU, or on a GPU if there is one."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch

from llpe.checks import refusal

CPU = torch.device("cpu")


def find_device(device: str | torch.device) -> torch.device:
    """The device of that name; ``"auto"`` is a GPU if there is one, else the CPU.

    Example:
        >>> find_device("cpu")
        device(type='cpu')
        >>> find_device("gpu")
        Traceback (most recent call last):
            ...
        ValueError: `device` must be auto, cpu, cuda, cuda:0, cuda:1, … or mps, got 'gpu'.
    """
    name = str(device)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if not re.fullmatch(r"cpu|cuda(:\d+)?|mps(:0)?", name):
        raise refusal("device", "be auto, cpu, cuda, cuda:0, cuda:1, … or mps", repr(name))
    found = torch.device(name)
    instead = "Or take device='cpu'."
    if found.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not torch.backends.cuda.is_built():
            remedy = "Install a build of PyTorch with it, see pytorch.org/get-started"
            raise refusal("device", "be one that PyTorch can use", f"{name!r} without CUDA", f"{remedy}. {instead}")
        if not count:
            remedy = "Look for it with nvidia-smi: the driver, or CUDA_VISIBLE_DEVICES, may hide it"
            raise refusal("device", "be available", f"{name!r} where PyTorch sees no GPU", f"{remedy}. {instead}")
        if (found.index or 0) >= count:
            raise refusal("device", f"be one of {count} GPUs, cuda:0 … cuda:{count - 1}", repr(name), instead)
    if found.type == "mps" and not torch.backends.mps.is_available():
        raise refusal("device", "be available", f"{name!r}, which is for Apple's own processors", instead)
    return found


def device_name(device: torch.device) -> str:
    """The device, and of a GPU the maker's name.

    Example:
        >>> device_name(CPU)
        'cpu'
    """
    return f"{device} ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else str(device)


def autocast(device: torch.device, dtype: str | None) -> AbstractContextManager[None]:
    """Inside, products of matrices are computed in ``dtype``, ``"bfloat16"``; None changes nothing."""
    return nullcontext() if dtype is None else torch.autocast(device.type, getattr(torch, dtype))


def no_autocast(device: torch.device) -> AbstractContextManager[None]:
    """Inside, everything is computed in its own dtype, even where autocast is on."""
    kind = device.type
    on = torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)
    return torch.autocast(kind, enabled=False) if on else nullcontext()


def check_autocast(device: torch.device, dtype: str | None) -> None:
    """Refuses a number format that the GPU does not support, and warns of one that the CPU only imitates."""
    if dtype is not None and device.type == "cpu" and not cpu_has_bfloat16():
        warnings.warn(
            f"`autocast` is {dtype!r}, which this CPU can only imitate, many times slower than float32. Leave it out.",
            stacklevel=2,
        )
    if dtype is not None and device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        got = f"{dtype!r} on a {torch.cuda.get_device_name(device)}"
        instead = "Leave it out: GPUs support it from Ampere on."
        raise refusal("autocast", "be a format that the GPU supports", got, instead)


def cpu_has_bfloat16() -> bool:
    """Whether oneDNN, which computes torch's products on the CPU, has kernels for bfloat16 here."""
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@contextmanager
def subnormals_flushed() -> Iterator[None]:
    """Inside, numbers below 1e-38 count as 0: a processor takes up to a hundred times as long for one.

    They are what the gradients and Adam's averages become in a network that has stopped learning. Only with one thread:
    torch sets this for the calling thread alone, and a result must not depend on which thread computed it.
    """
    kept = bool(torch.tensor(2e-38) / 4 != 0)
    here = kept and torch.get_num_threads() == 1
    if here:
        torch.set_flush_denormal(True)
    try:
        yield
    finally:
        if here:
            torch.set_flush_denormal(False)


def wide(device: torch.device) -> torch.dtype:
    """The widest floating-point dtype of a device."""
    return torch.float32 if device.type == "mps" else torch.float64


def random_state(device: torch.device) -> torch.Tensor:
    """The state of the generator that a device draws from."""
    if device.type == "cuda":
        return torch.cuda.get_rng_state(device)
    return torch.mps.get_rng_state() if device.type == "mps" else torch.get_rng_state()


def set_random_state(device: torch.device, state: torch.Tensor) -> None:
    """Sets it to what :func:`random_state` gave."""
    if device.type == "cuda":
        torch.cuda.set_rng_state(state, device)
    elif device.type == "mps":
        torch.mps.set_rng_state(state)
    else:
        torch.set_rng_state(state)
