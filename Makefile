# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PYTEST_ARGS ?=
ONCE   ?=
ARGS   ?=
LAYERS ?=
ROWS   ?=

# Hundreds of tests start a process: without bytecode on the disk each would compile the library.
export PYTHONDONTWRITEBYTECODE :=

PIP_INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check
# All extras of pyproject.toml: two of them come with others.
EXTRAS := apiserver,kubernetes,metrics,operator,otel

BENCH_OUT := --out benchmarks/results/full.json --plots docs/assets/benchmarks \
  --page docs/evidence/benchmarks.md

.DEFAULT_GOAL := help
.PHONY: help install run study test test-browser test-matrix lint format tables docs docs-serve bench bench-queue bench-full bench-parts field-peers wheel release constraints clean

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml
	@echo "creating $(VENV) with clientgo and its development tools (700 MB): about a minute"
	$(PYTHON) -m venv --upgrade-deps $(VENV)
	$(PIP_INSTALL) -e '.[$(EXTRAS)]' --group dev
	@touch $@

install: $(STAMP) ## create .venv and install clientgo with its development tools

run: $(STAMP) ## run the sample controller on the embedded API server (ONCE=1: end by itself)
	$(BIN)/python -m sample_controller.demo $(if $(ONCE),--once)

study: $(STAMP) ## serve a page on which a key travels through a controller
	$(BIN)/clientgo study

# Many tests wait for time or for processes, so seven of them at a time fill two cores.
test: $(STAMP) ## run all tests but those that need a browser
	$(BIN)/python -m pytest -n 7 --dist worksteal -m 'not browser' $(PYTEST_ARGS)

test-browser: $(STAMP) ## play the page and each lesson in Chromium (skipped without one: apt-get install chromium)
	$(BIN)/python -m pytest -m browser $(PYTEST_ARGS) tests/tools/study

# PYTHONS='python3.12 /opt/python3.14/bin/python3': these instead of all that are found.
# QUICK=1: the tests of some packages, on the Pythons that `make test` did not run on.
test-matrix: ## test the library on every CPython found, with the newest and the oldest dependencies
	$(PYTHON) hack/test_matrix.py

lint: $(STAMP) ## ruff, mypy --strict (examples and typed tests too) and the import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP) ## let ruff put imports and layout in order
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

tables: $(STAMP) ## write the documents that are made from tests and code
	$(BIN)/python hack/contract_coverage.py
	$(BIN)/python -m hack.conformance
	$(BIN)/python -m hack.site.lessons
	$(BIN)/python -m hack.moving_picture

docs: tables ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "to read it: $(PYTHON) -m http.server --directory site, or make docs-serve"

docs-serve: $(STAMP) ## show the documentation on http://127.0.0.1:8000, and follow its changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

# Peers that only the benchmarks need.
$(VENV)/.bench: $(STAMP)
	$(PIP_INSTALL) --group bench
	@touch $@

bench: $(VENV)/.bench ## measure the grid beside its peers in under 3 minutes (LAYERS=queue: a part)
	$(BIN)/python -m benchmarks $(LAYERS)

# A part of the layers is printed only: the result, the plots and the page are of all of them.
bench-full: $(VENV)/.bench ## measure the whole grid in under 20 minutes, write result, plots and page
	$(BIN)/python -m benchmarks --scale full $(or $(LAYERS),$(BENCH_OUT))

bench-queue: $(STAMP) ## measure work queues under a load of yours (ARGS='--queue my_module:MyQueue --workers 1,4')
	$(BIN)/clientgo bench queue $(ARGS)

bench-parts: $(VENV)/.bench ## measure the API server, the operator layer, coroutines and single stages
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-columns=median,rounds $(PYTEST_ARGS)

field-peers: $(STAMP) ## run the field cases against this informer and the official client's
	$(BIN)/python -m tests.field.peers $(ROWS)

# Tools that only a release needs.
$(VENV)/.release: $(STAMP)
	$(PIP_INSTALL) --group release
	@touch $@

wheel: ## build the wheel into dist/, with pip alone
	$(PYTHON) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

# What images install: the newest versions, and the hashes of their files for every platform.
constraints: $(VENV)/.release ## write constraints.txt, and the same for new projects
	printf 'hatchling\ntzdata\n' | $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-annotate \
	  --no-header --python-version 3.13 --python-platform linux --extra metrics --extra operator \
	  --output-file constraints.txt pyproject.toml -
	cp constraints.txt clientgo/tools/scaffold/templates/constraints.txt.tmpl

release: $(VENV)/.release ## build and check a release in dist/: about 5 minutes; publishes nothing
	$(BIN)/python -m hack.release

clean: ## remove .venv, site, dist and every cache
	rm -rf site dist $(VENV) .venv-matrix .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
