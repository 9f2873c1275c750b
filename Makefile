# `make demo` shows the main job, `make test` checks everything; both set themselves up from Python 3.11 alone.
PYTHON ?= python3.11
PYTHON312 ?= python3.12
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: help install demo docs test test-fast test-312 lint types clean

help:
	@echo "make demo       generate a small CLUSTER, train GRPE-Tiny on it, evaluate, report: minutes on two cores"
	@echo "make test       lint, check the layers and the types, and run every test"
	@echo "make test-fast  the tests that take seconds"
	@echo "make test-312   every test on Python 3.12, in an environment of its own in .venv-312 (several GB)"
	@echo "make docs       the documentation as pages in site/, to open in a browser"
	@echo "make install    only make the environment in .venv"
	@echo "make clean      remove the environment and caches"

install: $(VENV)/installed

# The stamp file is newer than what it was made from, so a second run installs nothing.
$(VENV)/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV), in two quiet steps of about two minutes in all: torch"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt setuptools wheel torch
	@echo "installing into $(VENV): grpe-dgl and what else it needs"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev,excel,onnx,parquet,ray,tensorboard,tune]'
	touch $@

# Chance is 16.7 %; everything it makes lies in demo/.
demo: install
	rm -rf demo/run
	$(BIN)/grpe preprocess cluster --generate --graphs 600,100,100 --data demo/data
	$(BIN)/grpe train demo --data demo/data --out demo/run
	$(BIN)/grpe evaluate demo/run/best.ckpt --data demo/data --split test
	$(BIN)/grpe report demo/run --out demo/report.html --force

docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo

types: install
	$(BIN)/mypy

test: lint types
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-fast: install
	$(BIN)/python -m pytest -m "not slow"

# Lint and types are checked on Python 3.11 alone: their findings would be the same.
test-312:
	$(MAKE) install VENV=.venv-312 PYTHON=$(PYTHON312)
	.venv-312/bin/python -m pytest -n 2 --dist worksteal

clean:
	rm -rf .venv .venv-312 demo .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site *.egg-info
