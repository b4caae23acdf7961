# hostsim: `make reproduce` runs everything that is published, `make test` the tests. Both set up .venv/ first.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
RESULTS ?= results
QUICK := $(if $(FULL),,--quick)

.PHONY: setup reproduce test lint bench clean

setup: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hostsim needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(STAMP)

reproduce: setup
	$(BIN)/hostsim reproduce $(QUICK) --results $(RESULTS)

test: setup
	$(BIN)/python -m pytest -n auto

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python -m tests.bench

clean:
	rm -rf .venv build dist results
