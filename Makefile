# `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
ENGINES := $(VENV)/engines
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --loglevel=error
WEB_SOURCES := $(shell find web/app/src web/sdk/src -type f) web/app/index.html web/app/host.html \
	web/app/vite.config.ts web/app/tsconfig.json
WEB_TOOLS := web/app/node_modules/.installed
SDK_TOOLS := web/sdk/node_modules/.installed
LIGHTHOUSE := web/lighthouse/node_modules/.installed
WEB_APP := greenroom/webapp/static/index.html
# Modules are compiled once, whatever the shell says: tests start the product hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup web run test check format types browser screenshots lighthouse bench bench-peers torture lock clean

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

web: $(WEB_APP) ## Build the web app and the embed

$(WEB_TOOLS) $(SDK_TOOLS) $(LIGHTHOUSE): web/%/node_modules/.installed: web/%/package-lock.json $(STAMP)
	@echo "installing web tools (once)"
	@$(NPM) --prefix $(@D)/.. ci > /dev/null
	@touch $@

$(WEB_APP): $(WEB_TOOLS) $(WEB_SOURCES)
	@$(NPM) --prefix web/app run build > /dev/null && echo "built the web app"

run: setup web ## Start the server with sample data and print where to go (STORE=dynamodb: in DynamoDB)
	@$(if $(STORE),GREENROOM_CONVERSATIONS=$(STORE) GREENROOM_DYNAMODB_ENDPOINT=embedded) $(BIN)/greenroom demo

test: check web browser ## Run the checks and every test, several files at a time
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder -p tools.sharing

check: setup $(WEB_TOOLS) $(SDK_TOOLS) ## Lint, format, types and the rules between rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(NPM) --prefix web/app run check

format: setup $(WEB_TOOLS) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(NPM) --prefix web/app run format

types: setup $(SDK_TOOLS) ## Write the TypeScript types of the API anew
	$(BIN)/greenroom openapi --demo | $(BIN)/node web/sdk/scripts/types.mjs

browser: setup ## See to it that there is a Chromium for the tests
	@$(BIN)/python -m tools.chromium

screenshots: setup web browser ## Take the pictures in docs/images anew
	$(BIN)/python -m tools.screenshots

lighthouse: setup web browser $(LIGHTHOUSE) ## Print performance and accessibility of the pages
	$(BIN)/python -m tools.lighthouse

bench: setup web browser ## Measure, as ratios against named limits
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
	rm -rf $(VENV) web/*/node_modules web/sdk/dist greenroom/webapp/static .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
