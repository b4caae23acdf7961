# hostsim: `make reproduce` reproduces the published experiments, `make test` runs the tests. Every target first sets up .venv/.
# Quick fidelity; FULL=1 for full. RESULTS=DIR for another results folder.
# The interpreter, from the environment or the command line; by default the one that simulates fastest.
PYTHON ?= $(shell .ci/find_python)
BIN := .venv/bin
STAMP := .venv/.installed
ALL := .venv/.all-installed
WHERE := .venv/lib/python3*/site-packages/_editable_impl_hostsim.pth
RESULTS ?= results
# Container images often set this variable; every process would then compile packages without bytecode again, for seconds.
unexport PYTHONDONTWRITEBYTECODE
QUICK := $(if $(FULL),,--quick)

CHECK ?=
NOTEBOOKS ?=
MUTANTS ?=
WHOLE := $(addprefix tests/,test_ablation.py test_ablation_latency.py test_ablation_small_udp.py test_determinism.py model/test_own_policy.py theory/test_oracles.py theory/test_ciw.py)
APART := $(addprefix tests/,$(addprefix engine/test_,arrivals.py event_queue.py jitter.py ring.py ring_recall.py) \
	$(addprefix model/test_,closed_loop_wire.py coalesced_arrivals.py flat.py invariants.py lro.py networld.py shared_tx.py taken_back.py transmit.py \
		tx_completion.py vcpu.py vnic.py vnic_lock.py) \
	test_fingerprint.py test_stock_environment.py theory/test_seeded_faults.py)

COMPILED := build/.compiled
# All dependencies of compiled modules (hostsim/engine/compiled.py), including folders, which change when a file is removed.
SOURCES := $(addprefix hostsim/,errors.py units.py plugin/module.py plugin/registry.py) \
	$(shell find hostsim/config hostsim/engine hostsim/model -name __pycache__ -prune -o \( -type d -o -name '*.py' \) -print)

.PHONY: setup reproduce check test long-tests whole-points long-code-tests notebooks verify mutants fuzz lint bench bench-page docs reference claims score cost-model predictions gallery calibration-page verification-page effects-page clean

setup: $(COMPILED)

# Packages to run and compile hostsim: uv is one of them, and pip is the fallback.
$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hostsim needs Python 3.11 or newer; try make PYTHON=python3.12")'
	@rm -f $(WHERE) # an earlier one, which this locale may not read
	$(PYTHON) -m venv .venv
	.ci/install requirements.lock
	.ci/install --editable .
	@# Python decodes this file by the locale, and does not start if the locale cannot represent a folder in it.
	@for file in $(WHERE); do echo ../../../.. >"$$file"; done
	@$(BIN)/hostsim --version >/dev/null || { echo 'hostsim is installed in .venv/ and does not start; the lines above say why' >&2; exit 1; }
	@touch $(STAMP)

# Additional packages for tests, pages and notebooks.
$(ALL): requirements-all.lock $(STAMP)
	.ci/install requirements-all.lock
	@touch $(ALL)

# The hot modules as machine code, in up to a minute: eight to seventeen times as fast, with the same results.
$(COMPILED): $(STAMP) $(SOURCES)
	@mkdir -p build
	@HOSTSIM_PURE=1 $(BIN)/hostsim --version >/dev/null || { echo 'hostsim does not start; the lines above say why' >&2; exit 1; }
	@# A short run at the same time leaves bytecode of all that the first command imports: at first mypyc keeps only one processor busy.
	HOSTSIM_PURE=1 $(BIN)/hostsim run first-sweep --quick --set 'run.quick.length=100 ms' --axis interrupts=1000 --replications 1 --results build/first >/dev/null 2>&1 & \
	$(BIN)/python .ci/compile.py >build/compile.log 2>&1 || echo 'hostsim could not be compiled (build/compile.log says why) and runs as it is, which takes eight to seventeen times as long'; \
	wait; rm -rf build/first
	@touch $(COMPILED)

reproduce: setup
	$(BIN)/hostsim reproduce $(QUICK) --results $(RESULTS)

check: setup
	$(BIN)/hostsim check $(QUICK) --results $(RESULTS) $(CHECK)

# Tests in APART replace parts of hosts, which compiled classes do not allow, and run the sources. All others use compiled modules if
# they match, like users; another test compares the bytes of both. `make long-tests` runs WHOLE: long whole points, and points with
# policies of a user.
test: setup $(ALL)
	$(BIN)/python -m pytest -n auto --dist worksteal $(APART)
	HOSTSIM_PURE= $(BIN)/python -m pytest -n auto --dist worksteal $(addprefix --ignore=,$(WHOLE) $(APART))

# Longer tests, which `.ci/run` also runs: whole points, compiled code, clusters.
long-tests: whole-points long-code-tests

whole-points: setup $(ALL)
	HOSTSIM_PURE= $(BIN)/python -m pytest $(WHOLE)

long-code-tests: setup $(ALL)
	$(BIN)/python -m pytest -m slow tests/test_compiled.py tests/faults/test_cluster.py

# Executes the notebooks and stores their outputs; NOTEBOOKS=--check compares with the stored ones, NOTEBOOKS=splitrx takes one.
notebooks: setup $(ALL)
	$(BIN)/python .ci/notebooks.py $(NOTEBOOKS)

# Oracles against theory, and slow tests, including all seeded faults (docs/mutation.md).
verify: setup $(ALL)
	$(BIN)/hostsim verify
	$(BIN)/python -m pytest -m slow

# The random mutants without a stored result (MUTANTS=--again: also those that survived), then the page about them.
mutants: $(ALL)
	$(BIN)/python -m tests.mutation $(MUTANTS)

# New examples of all property-based tests, then randomly edited files through the loaders, for an hour.
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

# The page of constants and assumptions, after a change of any of them.
cost-model: $(STAMP)
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.cost_model_page docs/cost-model.md

# The page about predictions, after a first value was committed or the model changed: runs all of them at full fidelity.
predictions: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.predictions_page docs/predictions.md --results $(RESULTS)

# The score, after a change of the model or a claim: judges every claim at quick fidelity, to docs/claims.json, and updates all texts with counts of verdicts.
claims: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.claim_values docs/claims.json $(QUICK) --results $(RESULTS)
	@$(MAKE) --no-print-directory score

# Only these texts, from docs/claims.json: the forest plot, the levels of trust, the counts in README and changelog, and the output of the README's first command.
score: $(STAMP)
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.score

# The gallery of the experiments' figures, at quick fidelity, after a change of the model, a figure or the style.
gallery: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.gallery docs/explanation/gallery.md --results $(RESULTS)

# The page about the joint calibration, after a new one was shipped (.ci/ship_calibration.py).
calibration-page: $(STAMP)
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.calibration_page docs/calibration.md

# The page about verification, after a change of an oracle: runs all of them.
verification-page: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.verification_page docs/verification.md

# The page about the effect of each setting, after a setting or key was added or the model changed: runs each at both ends of its range, for a minute.
effects-page: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.effects_page docs/effects.md

# The pages of docs/ as a site in build/docs/html; the sessions on them are run, and warnings are errors.
docs: $(ALL)
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d build/docs/doctrees docs build/docs/html
	@echo build/docs/html/index.html

# The pages of the reference in docs/reference/, after a change of a key, an option, a measure, a docstring or a claim.
reference: $(STAMP)
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.reference docs/reference

# Times of this machine, for a quarter of an hour, to build/bench.json, and a chart, to build/bench.svg; COMMANDS=1 also times `make setup`, `make reproduce` with and without FULL=1, and `.ci/run` in new clones.
bench: setup
	$(BIN)/python -m tests.bench $(if $(COMMANDS),--commands)

# The page about speed and scale with its chart, from the figures of the last `make bench`.
bench-page: setup
	PYTHONPATH=docs/_ext $(BIN)/python -m hostsim_docs.bench_page build/bench.json docs/project/speed.md docs/images/speed.svg

clean:
	rm -rf .venv build dist $(RESULTS)
