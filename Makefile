# `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ENGINES := $(VENV)/engines

.PHONY: help setup run test check format bench bench-peers torture lock clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP) ## Make the virtual environment with the locked dependencies

$(STAMP): requirements.lock pyproject.toml engines/package-lock.json
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Greenroom needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing dependencies (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@mkdir -p $(ENGINES) && cp engines/package.json engines/package-lock.json engines/.npmrc $(ENGINES)
	@test "$$(uname -sm)" != "Linux x86_64" || \
		PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix $(ENGINES) --loglevel=error ci > /dev/null
	@touch $@

run: setup ## Start the server with sample data and print where to go (STORE=dynamodb: in DynamoDB)
	@$(if $(STORE),GREENROOM_CONVERSATIONS=$(STORE) GREENROOM_DYNAMODB_ENDPOINT=embedded) $(BIN)/greenroom demo

test: check ## Run the checks and every test, a file per core at a time
	$(BIN)/pytest -n auto --dist loadfile

check: setup ## Lint, format, types and the rules between rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## Measure, as ratios against named limits
	$(BIN)/python -m bench

bench-peers: setup ## Measure beside Synapse and Prosody, which it installs (optional, root for apt)
	$(BIN)/python -m bench.peers

torture: setup ## Fault tests and generated histories with full counts (long)
	GREENROOM_TORTURE=full $(BIN)/pytest -s tests/torture tests/contract tests/client

lock: setup ## Resolve the dependencies anew
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
		--extra dev --python-version 3.11 pyproject.toml -o requirements.lock
	@touch $(STAMP)

clean: ## Remove the virtual environment and caches; data in .greenroom stays
	rm -rf $(VENV) web/sdk/node_modules web/sdk/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
