# hostsim: `make reproduce` runs everything that is published, `make test` the tests. Every target sets up .venv/ first.
# Quick fidelity; FULL=1 for full. RESULTS=DIR for another results folder.
# Its name, by the environment or the command line; one that simulates faster is preferred.
PYTHON ?= $(shell .ci/find_python)
BIN := .venv/bin
STAMP := .venv/.installed
ALL := .venv/.all-installed
WHERE := .venv/lib/python3*/site-packages/_editable_impl_hostsim.pth
RESULTS ?= results
# Images of containers like to set it; every process would compile anew what is installed without bytecode, for seconds.
unexport PYTHONDONTWRITEBYTECODE
QUICK := $(if $(FULL),,--quick)

CHECK ?=
NOTEBOOKS ?=
MUTANTS ?=
WHOLE := $(addprefix tests/,test_ablation.py test_ablation_latency.py test_ablation_small_udp.py test_determinism.py model/test_own_policy.py theory/test_oracles.py theory/test_ciw.py)
APART := $(addprefix tests/,$(addprefix engine/test_,arrivals.py event_queue.py jitter.py machine_integers.py ring.py ring_recall.py) \
	$(addprefix model/test_,closed_loop_wire.py coalesced_arrivals.py flat.py invariants.py lro.py networld.py shared_tx.py taken_back.py transmit.py \
		tx_completion.py vcpu.py vnic.py vnic_lock.py) \
	test_fingerprint.py test_stock_environment.py theory/test_seeded_faults.py)

COMPILED := build/.compiled
# All that compiled modules depend on (hostsim/engine/compiled.py), with the folders, which a file that goes changes.
SOURCES := $(addprefix hostsim/,errors.py units.py plugin/module.py plugin/registry.py) \
	$(shell find hostsim/config hostsim/engine hostsim/model -name __pycache__ -prune -o \( -type d -o -name '*.py' \) -print)

.PHONY: setup reproduce check test long-tests whole-points long-code-tests notebooks verify mutants fuzz lint bench docs reference claims score cost-model predictions gallery calibration-page verification-page effects-page clean

setup: $(COMPILED)

# What runs and compiles: uv is a package like the others, and pip does what it cannot.
$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hostsim needs Python 3.11 or newer; try make PYTHON=python3.12")'
	@rm -f $(WHERE) # an earlier one, which this locale may not read
	$(PYTHON) -m venv .venv
	.ci/install requirements.lock
	.ci/install --editable .
	@# Python reads this file by the locale, and does not start where it names a folder that the locale cannot say.
	@for file in $(WHERE); do echo ../../../.. >"$$file"; done
	@$(BIN)/hostsim --version >/dev/null || { echo 'hostsim is installed in .venv/ and does not start; the lines above say why' >&2; exit 1; }
	@touch $(STAMP)

# What else tests, pages and notebooks need.
$(ALL): requirements-all.lock $(STAMP)
	.ci/install requirements-all.lock
	@touch $(ALL)

# The hot modules as machine code, in half a minute or a minute: eight to seventeen times the speed, the same results.
$(COMPILED): $(STAMP) $(SOURCES)
	@mkdir -p build
	@HOSTSIM_PURE=1 $(BIN)/hostsim --version >/dev/null || { echo 'hostsim does not start; the lines above say why' >&2; exit 1; }
	$(BIN)/python .ci/compile.py >build/compile.log 2>&1 || echo 'hostsim could not be compiled (build/compile.log says why) and runs as it is, which takes eight to seventeen times as long'
	@touch $(COMPILED)

reproduce: setup
	$(BIN)/hostsim reproduce $(QUICK) --results $(RESULTS)

check: setup
	$(BIN)/hostsim check $(QUICK) --results $(RESULTS) $(CHECK)

# Tests in APART take hosts apart, which compiled classes do not allow, and run the sources. All others take what is compiled where it
# fits, as users do; that both give the same bytes is tested where it is there. WHOLE is left to `make long-tests`: whole points, long
# ones or with policies of a user's own.
test: setup $(ALL)
	$(BIN)/python -m pytest -n auto --dist worksteal $(APART)
	HOSTSIM_PURE= $(BIN)/python -m pytest -n auto --dist worksteal $(addprefix --ignore=,$(WHOLE) $(APART))

# Tests that take longer and that `.ci/run` has time for: whole points, compiled code, clusters.
long-tests: whole-points long-code-tests

whole-points: setup $(ALL)
	HOSTSIM_PURE= $(BIN)/python -m pytest $(WHOLE)

long-code-tests: setup $(ALL)
	$(BIN)/python -m pytest -m slow tests/test_compiled.py tests/faults/test_cluster.py

# Executes the notebooks and keeps their outputs; NOTEBOOKS=--check holds them against those that are kept, NOTEBOOKS=splitrx takes one.
notebooks: setup $(ALL)
	$(BIN)/python .ci/notebooks.py $(NOTEBOOKS)

# Oracles against theory, and slow tests: all seeded faults are among them (docs/mutation.md).
verify: setup $(ALL)
	$(BIN)/hostsim verify
	$(BIN)/python -m pytest -m slow

# The random mutants that have no stored result yet (MUTANTS=--again: also those that survived), then the page about them.
mutants: $(ALL)
	$(BIN)/python -m tests.mutation $(MUTANTS)

# Other examples of all tests that draw some, then files with random edits through the loaders, for an hour.
fuzz: $(ALL)
	$(BIN)/python -m pytest -n auto -m hypothesis --hypothesis-profile=random
	HOSTSIM_FUZZ_S=$(or $(SECONDS),3600) $(BIN)/python -m pytest -m slow -s tests/scenario/test_fuzz.py

lint: $(ALL)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python .ci/prose.py
	$(BIN)/typos

# The page of constants and assumptions, after any of them has changed.
cost-model: $(STAMP)
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.cost_model_page docs/cost-model.md

# The page about predictions, after a first value is committed, or the model has changed: runs them all, at full fidelity.
predictions: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.predictions_page docs/predictions.md --results $(RESULTS)

# The score, after the model or a claim has changed: judges every claim, at quick fidelity, to docs/claims.json, and writes all texts that count verdicts.
claims: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.claim_values docs/claims.json $(QUICK) --results $(RESULTS)
	@$(MAKE) --no-print-directory score

# Those texts alone, from docs/claims.json: the forest plot, the levels of trust, the counts of README and changelog, and what the first command of the README prints.
score: $(STAMP)
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.score

# The gallery of the figures of the experiments, at quick fidelity, after the model, a figure or the style has changed.
gallery: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.gallery docs/explanation/gallery.md --results $(RESULTS)

# The page about the joint calibration, after another one was shipped (.ci/ship_calibration.py).
calibration-page: $(STAMP)
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.calibration_page docs/calibration.md

# The page about verification, after any oracle has changed: runs them all.
verification-page: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.verification_page docs/verification.md

# The page of what each setting does, after a setting or key was added, or the model has changed: runs each at both ends of its range, for a minute.
effects-page: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.effects_page docs/effects.md

# The pages of docs/ as a site in build/docs/html; sessions on them are run, and a warning is an error.
docs: $(ALL)
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/docs/doctrees docs build/docs/html
	@echo build/docs/html/index.html

# The pages of the reference as Markdown, to docs/reference/, in seconds and without Sphinx.
reference: $(STAMP)
	PYTHONPATH=docs/_ext $(BIN)/python -c 'from pathlib import Path; from hostsim_docs.reference import write_pages; print(*write_pages(Path("docs/reference"), plain=True), sep="\n")'

# Wall times, to build/bench.json; COMMANDS=1 times `make setup`, `make reproduce`, with FULL=1 and without, and `.ci/run` in new clones, too.
bench: setup
	$(BIN)/python -m tests.bench $(if $(COMMANDS),--commands)

clean:
	rm -rf .venv build dist $(RESULTS)
