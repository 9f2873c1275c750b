# `make demo` shows the main job, `make test` checks everything; both set themselves up from Python 3.11 alone.
PYTHON ?= python3.11
BIN := .venv/bin

.PHONY: help install demo test test-fast lint types clean

help:
	@echo "make demo       generate a small CLUSTER, train GRPE-Tiny on it, evaluate: minutes on two cores"
	@echo "make test       lint, check the layers and the types, and run every test"
	@echo "make test-fast  the tests that take seconds"
	@echo "make install    only make the environment in .venv"
	@echo "make clean      remove the environment and caches"

install: .venv/installed

# The stamp file is newer than what it was made from, so a second run installs nothing.
.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing into .venv, in two quiet steps of about two minutes in all: torch"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt setuptools wheel torch
	@echo "installing into .venv: grpe-dgl and what else it needs"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-build-isolation --editable '.[dev,excel,onnx,parquet,ray,tensorboard,tune]'
	touch $@

# Chance is 16.7 %; everything it makes lies in demo/.
demo: install
	rm -rf demo/run
	$(BIN)/grpe preprocess cluster --generate --graphs 600,100,100 --data demo/data
	$(BIN)/grpe train demo --data demo/data --out demo/run
	$(BIN)/grpe evaluate demo/run/best.ckpt --data demo/data --split test

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

clean:
	rm -rf .venv demo .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist *.egg-info
