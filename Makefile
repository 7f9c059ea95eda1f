# Two commands do everything on a fresh machine: `make demo` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
LOWEST := $(filter-out %documents.py %site.py %benchmarks.py %scale.py %graphgym.py,$(wildcard tests/test_*.py)) tests/data tests/models tests/lab

.PHONY: help demo test test-lowest lint faults fuzz bench bench-quick docs experiments clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[big,cluster,graphgym,lab,dev]"
	touch $(READY)

demo: $(READY)  ## train with and without encodings on homophilous and heterophilous graphs, no download
	$(BIN)/llpe demo

test: lint  ## every test, doctest, example and code block of the documents
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

test-lowest:  ## the tests of all but studies and pages, with the oldest versions of everything (.venv-lowest, 6 GB with CUDA)
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-lowest.txt -e ".[big,graphgym,lab]" pytest hypothesis
	OMP_NUM_THREADS=1 .venv-lowest/bin/python -m pytest -W default $(LOWEST)

lint: $(READY)  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fuzz: $(READY)  ## thousands of random graphs and arguments for every encoding, against naive formulas (ten minutes)
	OMP_NUM_THREADS=1 $(BIN)/python tests/test_fuzz.py

faults: $(READY)  ## kill processes, damage files, fill disks: what was tried and what was lost (ten minutes)
	$(BIN)/python faults/run.py

bench: $(READY)  ## every claim of speed or memory, measured (half an hour); writes docs/scale.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[bench]"
	$(BIN)/python benchmarks/run.py

bench-quick: $(READY)  ## the same at the small sizes, in three minutes
	$(BIN)/python benchmarks/run.py --quick

docs: $(READY)  ## write the page of encodings, check that the documents' code runs, build the site into site/
	$(BIN)/python docs/zoo.py
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 tests/test_documents.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

experiments: $(READY)  ## make docs/experiments.md, docs/benchmark.md and the README's table again from results/
	$(BIN)/python -m llpe.paper.experiments results docs/experiments.md README.md
	$(BIN)/python -m llpe.paper.benchmark_page results docs/benchmark.md

clean:  ## remove the virtual environment, the site and caches
	rm -rf $(VENV) .venv-lowest site .pytest_cache .mypy_cache .ruff_cache .hypothesis
