# Each target sets up what it needs: the stamp makes .venv once, and again when the project's requirements change.
SHELL := bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
ARGS ?=
EXAMPLES = $(sort $(filter-out %.py %.md,$(wildcard examples/*)))

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast lab pictures signatures lint types format check cases bench accuracy bench-overhead examples messages golden docs clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv with sismo and everything that developing it needs

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m compileall -q src
	@touch $@

demo: $(STAMP) ## diagnose the example logs and print the verdicts
	@$(BIN)/sismo diagnose --fail-on never $(EXAMPLES)

test: $(STAMP) ## run every test, slow ones too
	$(BIN)/python -m pytest

test-fast: $(STAMP) ## run the tests that take no more than a few seconds
	$(BIN)/python -m pytest -m "not slow"

lint: $(STAMP) ## ruff, pyright and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache

format: $(STAMP) ## let ruff lay out and repair what it can
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

check: lint test-fast ## lint and the fast tests: run it before each commit

cases: $(STAMP) ## how often the right cause comes first on real logs (needs the case files; see docs)
	$(BIN)/python -m sismo.bench.cases $(ARGS)

bench: $(STAMP) ## synthetic faults, false alarms and speed
	$(BIN)/python -m sismo.bench.faults --peers $(ARGS)
	$(BIN)/sismo bench speed $(ARGS)

accuracy: $(STAMP) ## train every fault and healthy run of the lab, and write docs/accuracy.md (hours on two cores)
	$(BIN)/sismo bench accuracy --write $(ARGS)

bench-overhead: $(STAMP) ## what recording costs, beside trainscope and trainpulse, in steps taken in turn
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/sismo bench overhead $(ARGS)

lab: $(STAMP) ## train the healthy run and the three sealed failures, with their pages (some 3 minutes)
	$(BIN)/sismo lab run $(ARGS)

pictures: $(STAMP) ## let sismo sit the exam of `make lab`, and photograph its four pages into docs/images (needs Chromium)
	$(BIN)/sismo lab exam --auto
	$(BIN)/python tools/pictures.py experiments

signatures: $(STAMP) ## measure what is claimed about the three failures, and how sismo does in the exam, into docs/lab.md
	$(BIN)/python -m sismo.bench.signatures --write $(ARGS)
	$(BIN)/python -m sismo.bench.exam --write $(ARGS)

examples: $(STAMP) ## write the example logs again (deterministic)
	$(BIN)/python examples/make_examples.py

messages: $(STAMP) ## gather every sentence into the Spanish catalogue and compile it
	$(BIN)/python tools/messages.py

docs: $(STAMP) ## write docs/reference from the catalogue, and the real outputs in the README
	$(BIN)/python tools/reference.py

golden: $(STAMP) ## write the expected reports in tests/golden again; read the diff before committing it
	SISMO_WRITE_GOLDEN=1 $(BIN)/python -m pytest -q tests/golden

clean: ## remove .venv and all caches
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
