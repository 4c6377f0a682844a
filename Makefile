# The jobs of this checkout. Every job sets .venv up first, when it is missing, broken, moved or older than pyproject.toml.
# `make check` runs the main job, `make test` all tests, `make test-fast` those of an edit-and-run cycle.

PYTHON ?= python3
PYTEST_ARGS ?=

# One more than there are cores: tests of Spark, of a browser and of processes that are killed wait most of their time.
CORES := $(shell getconf _NPROCESSORS_ONLN)
PROCESSES ?= $(shell echo $$(($(CORES) + 1)))

# 87 of 641 specs have nine tenths of all states: a promise is asked of other constants, too, or of the row's other variants.
# CI asks those of up to LANDING_STATES, too, and of three rows the smallest that is as it should be, or the bug, which has more;
# the first of them is the latest of three others, too.
MOST_STATES := 420000
LANDING_STATES := 1250000
LARGER := 'specs/gallery/stale-ends.toml\#latest' 'specs/gallery/kip380-leader.toml\#latest' 'specs/gallery/kafka18723.toml\#bug'

# Compiled once: every process of a run of tests would compile pytest's version of each test module again.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
BIN := $(VENV)/bin
# The stamp's name depends on where the checkout is, because scripts and an editable installation name their place.
STAMP := $(VENV)/.installed-$(shell echo "$(CURDIR)" | cksum | cut -d ' ' -f 1)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup bytecode check gate test test-landing test-long test-real test-brokers test-fast bench lint types docs clean

help:
	@echo 'make check      run the main job: one specification that holds and one that is violated'
	@echo 'make gate       run every specification and compare it with what it expects'
	@echo 'make test       run all tests, then the gate, without specs of more than $(MOST_STATES) states'
	@echo 'make test-landing  run the larger cases of what make test asks, and the gate with specs of up to $(LANDING_STATES) states; CI does, too'
	@echo 'make test-long  run what is left out of the above: the longest proofs and refutations, and the gate with its largest specs'
	@echo 'make test-real  play counterexamples on real Kafka brokers; needs Java 17, Maven until releases are in the cache, and Prometheus'
	@echo 'make test-brokers  the ones of those that CI plays, in at most three minutes'
	@echo 'make test-fast  run the tests that are neither slow nor need Spark or a browser, on all cores'
	@echo 'make bench      measure this machine'
	@echo 'make lint       ruff, mypy --strict and the layering of the packages'
	@echo 'make types      mypy --strict by a process that stays for an hour, so that it looks again only at what has changed'
	@echo 'make docs       build the site into build/site, strictly: no broken link, no page without a way to it'
	@echo 'make clean      remove .venv, caches and build results'

setup: bytecode

# pip does not compile an editable installation, and where PYTHONDONTWRITEBYTECODE is set, nor does Python: every command
# would compile our sources again, which takes longer than most questions.
bytecode: $(STAMP)
	@$(BIN)/python -m compileall -q acked base model invariants checker reports cluster audit hunt roll

$(STAMP): pyproject.toml
	@command -v "$(PYTHON)" > /dev/null 2>&1 || \
	  { echo 'make: "$(PYTHON)" is not found; install Python 3.11 or newer, or name it: make PYTHON=/path/to/python3.' >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'make: "$(PYTHON)" is too old; acked needs Python 3.11 or newer: make PYTHON=/path/to/python3.' >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2> /dev/null || \
	  { echo 'make: "$(PYTHON)" cannot create virtual environments; install its venv module (often a package called python3-venv).' >&2; exit 1; }
	@if [ -x $(BIN)/python ] && $(BIN)/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null \
	    && grep -qF "$(CURDIR)/$(BIN)/python" $(BIN)/pip 2> /dev/null; \
	then echo 'Updating $(VENV) (a minute or two) …'; \
	else echo 'Setting up $(VENV) (once, a few minutes) …'; "$(PYTHON)" -m venv --clear $(VENV); fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	@touch $@

check: bytecode
	@echo '$$ acked check kip320'
	@$(BIN)/acked check kip320
	@echo
	@echo '$$ acked check truncate-to-hw'
	@$(BIN)/acked check truncate-to-hw; code=$$?; \
	  if [ $$code -eq 12 ]; then echo 'Exit code 12, as expected: that protocol loses records.'; \
	  else echo "make: truncate-to-hw should exit with 12 (violated) but exited with $$code." >&2; exit 1; fi
	@echo
	@echo '$$ python benchmarks/side_by_side.py kip320'
	@$(BIN)/python benchmarks/side_by_side.py kip320
	@echo
	@echo 'All as expected. Next: docs/first-counterexample.md; or your own settings: $(BIN)/acked audit server.properties'

gate: bytecode
	@$(BIN)/acked gate specs/

# In a fresh checkout every process would rewrite the assertions of all test modules, which takes longer than reading them.
# What tests have compiled of the specs, the gate need not compile again.
test: bytecode
	@[ -d tests/__pycache__ ] || $(BIN)/python -m tests.rewriting || :
	@$(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist worksteal $(PYTEST_ARGS)
	@XDG_CACHE_HOME=build/tests XDG_STATE_HOME=build/tests/state $(BIN)/acked gate --up-to $(MOST_STATES) specs/

# What make test has answered the gate need not answer again.
test-landing: bytecode
	@$(BIN)/python -m pytest -m 'landing and not long and not real' --numprocesses $(PROCESSES) --dist worksteal $(PYTEST_ARGS)
	@XDG_CACHE_HOME=build/tests XDG_STATE_HOME=build/tests/state $(BIN)/acked gate --up-to $(LANDING_STATES) specs/ $(LARGER)

test-long: bytecode
	@$(BIN)/python -m pytest -m long --numprocesses $(PROCESSES) --dist worksteal $(PYTEST_ARGS)
	@$(BIN)/acked gate specs/

# One cluster at a time: brokers are processes that need the machine.
test-real: bytecode
	@$(BIN)/python -m pytest -m real $(PYTEST_ARGS)

# Four counterexamples with their controls, on a release with ZooKeeper and one with KRaft, and two clusters that are audited.
test-brokers: bytecode
	@$(BIN)/python -m pytest -q -rs -m 'real and ci' tests/audit/commands tests/cluster $(PYTEST_ARGS)

# Hardly one of these waits for anything.
test-fast: PROCESSES := $(CORES)
test-fast: bytecode
	@$(BIN)/python -m pytest -q -m 'not slow and not long and not landing and not real and not spark and not browser' --numprocesses $(PROCESSES) --dist worksteal $(PYTEST_ARGS)

bench: bytecode
	@$(BIN)/python benchmarks/local.py

lint: $(STAMP)
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m mypy --strict
	@PYTHONPATH=. $(BIN)/lint-imports --no-logo

types: $(STAMP)
	@$(BIN)/dmypy run --timeout 3600 -- --strict

docs: bytecode
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo 'The site is in build/site; open build/site/index.html.'

clean:
	@[ ! -e .dmypy.json ] || $(BIN)/dmypy stop > /dev/null 2>&1 || true
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .dmypy.json
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
