# make demo   set up and run the main job
# make test   set up and test
# make lint   lint, types, import contract
# make bench  measure speed and memory, with a JSON report in benchmarks/results
# Works with GNU make 3.81. Needs Python 3.11 or newer and pip; PYTHON=... names another interpreter.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PACKS  := calc clock files memory python weather web
PIP    := $(PYTHON) -m pip --python $(BIN)/python --disable-pip-version-check
PACK_SOURCES := $(shell find plugins -type f ! -path '*/__pycache__/*' 2>/dev/null)

.PHONY: help demo test lint bench clean setup dev

help:
	@sed -n 's/^# //p' Makefile

demo: setup
	$(BIN)/python -m examples.demo

test: dev
	$(BIN)/python -m pytest -n auto --dist worksteal $(ARGS)

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks

setup: $(VENV)/.installed
dev: $(VENV)/.developed

# `--without-pip` so that it works where venv lacks ensurepip (stock Debian).
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Remit needs Python 3.11 or newer; name one with: make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/pip || $(PYTHON) -m pip --version >/dev/null 2>&1 || { echo "$(PYTHON) has no pip; install it (Debian: apt install python3-pip python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv --without-pip $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml constraints.txt $(PACK_SOURCES)
	@echo "Installing Remit and its packs into $(VENV) ..."
	@$(PIP) install -q -c constraints.txt pip hatchling editables
	@$(PIP) install -q --no-build-isolation -c constraints.txt -e '.[eval]' tzdata beautifulsoup4
	@$(PIP) install -q --no-build-isolation --no-deps --force-reinstall $(PACKS:%=./plugins/remit-%)
	@$(BIN)/python -m compileall -q core sandbox  # a cell cannot write what it has compiled
	@touch $@

$(VENV)/.developed: $(VENV)/.installed
	@echo "Installing the test tools ..."
	@$(PIP) install -q --no-build-isolation -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis benchmarks/results
