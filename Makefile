# Everything from a fresh clone, with nothing but make and Python 3.11 or newer. `make` alone lists the targets.

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PYTEST_ARGS ?= -n auto --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help install test full check format demo docs clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 10

install: $(INSTALLED) ## Make .venv with everything that development needs

$(INSTALLED): pyproject.toml setup.py
	@test -n "$(PYTHON)" || { echo "jaxmigrate needs Python 3.11 or newer; none was found (PYTHON=... names one)" >&2; exit 1; }
	@echo "==> Installing into $(VENV) with $$($(PYTHON) --version); JAX is a big download the first time"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --editable '.[dev]'
	@touch $@

check: $(INSTALLED) ## Style, types, and jaxmigrate on itself
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/jaxmigrate lint .

# The tests start hundreds of processes: where Python is told to write no bytecode, each would compile the package anew.
test: check ## All of check, and the tests
	$(BIN)/python -m compileall -q -x '/(bad|good)\.py$$' jaxmigrate rules
	$(BIN)/python -m pytest $(PYTEST_ARGS)

full: PYTEST_ARGS += --long
full: test ## All of test, and the long tests that shorter ones stand in for: before a release

format: $(INSTALLED) ## Let ruff rewrite what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

demo: $(INSTALLED) ## Lint, fix and verify a training program with planted mistakes; writes demo/report.html
	@$(BIN)/python tools/demo.py

docs: $(INSTALLED) ## Build the documentation into site/
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --editable '.[docs]'
	$(BIN)/mkdocs build --strict

clean: ## Remove what the other targets made
	rm -rf $(VENV) build dist demo site *.egg-info .mypy_cache .pytest_cache .ruff_cache
