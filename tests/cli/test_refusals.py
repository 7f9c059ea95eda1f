"""Every command refuses a bad request in words, with the exit code 2, and writes nothing."""

import pytest

REQUESTS = {
    "train": "`--dataset` must be given",
    "train a.toml b.toml": "CONFIG must be one file, got a.toml, b.toml",
    "train absent.toml": "CONFIG must be a file or a run folder, got 'absent.toml'.",
    "train --dataset corra": "Did you mean",
    "train --dataset sbm:n=80 lrr=3": "`lrr` must be one of",
    "train --dataset sbm:n=80 --engine spark": "`engine` must be one of 'local', 'dask', got 'spark'.",
    "train --dataset sbm:n=80 --scheduler a:1": "`--scheduler` must come with --engine dask",
    "encode sbm:n=80 -o pe.npz --engine dask": "`--engine` must be local for a graph in memory",
    "train --dataset sbm:n=80 --encoding lpe": "`name` must be one of none, lpe-fk",
    "train --dataset sbm:n=80 --model mpl": "`model` must be one of mlp",
    "train --dataset sbm:n=80 lr=-1 epochs=0": "training.epochs",
    "train --dataset sbm:n=80 source=ends": "Use the encoding 'llpe-ends'.",
    "search --dataset sbm:n=80 --method guess": "search.method",
    "predict nowhere sbm:n=80 -o x.txt": "must end in one of .csv, .npz",
    "predict nowhere sbm:n=80 -o x.csv": "must be a run folder",
    "list graphs": "`what` must be one of 'all', 'encodings', 'models', 'benchmarks', 'synthetic', got",
    "spectrum texass": "Did you mean 'texas'?",
    "spectrum sbm:n=ten": "error: `n` in 'sbm:n=ten' must be an integer, got 'ten'.",
    "spectrum missing.npz": "the file must exist",
    "spectrum sbm:n=80 --plot a.gif": "`plot` must end in one of .png, .pdf, .svg, got 'a.gif'.",
    "spectrum sbm:n=80 --order 0": "`order` must be an integer of at least 1, got 0.",
    "cache --clear --path": "`--clear` and `--path` must not be given together",
    "encode sbm:n=80 -o pe.csv": "`output` must end in one of .npz, .pt, .safetensors, got 'pe.csv'.",
    "encode sbm:n=80 -o pe.npz kk=3": "options of 'llpe' must be among dim, order",
    "encode sbm:n=80 -o pe.npz k": "options must be key=value, as in k=8, got 'k'.",
    "encode sbm:n=80 -o pe.npz --dim 8 dim=9": "`dim` must be given once, got --dim 8 and dim=9.",
    "encode sbm:n=80 -o pe.npz l1=much": "`l1` must be a finite number, got 'much'.",
    "encode sbm:n=80 -o pe.npz name=rwse": "options of 'llpe' must be as `llpe list encodings` shows",
    "encode sbm:n=80 -o pe.npz --split 1": "`--split` must come with --run",
    "encode sbm:n=80 -o pe.npz --run runs/a k=3": "`--run` must be given without",
    "encode sbm:n=80 -o pe.npz --run a --encoding llpe": "`--run` must be given without",
    "encode sbm:n=80 -o pe.npz --run runs/a": "`run` must be a run folder",
    "table .": "`runs` must hold run folders",
    "table . --format xml": "`format` must be one of 'text', 'json', 'markdown', 'latex', 'csv', got 'xml'.",
    "report nowhere": "`runs` must be folders",
    "report . -o report.pdf": "`output` must end in one of .html, .htm",
    "compare sbm:n=80 -o no/such/folder/page.html": "`output` must be in an existing folder",
    "compare sbm:n=80 --splits 0": "splits.count",
    "compare sbm:n=80 lrr=1": "`lrr` must be one of",
    "reproduce table-1": "`name` must be one of table-small, ",
    "reproduce sbm --budget fast": "`budget` must be one of 'quick', 'standard', 'paper', got 'fast'",
}


@pytest.mark.parametrize("line", REQUESTS)
def test_bad_requests_are_refused_and_leave_nothing(llpe, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    assert REQUESTS[line] in llpe(*line.split(), code=2).stderr
    assert list(tmp_path.iterdir()) == []
