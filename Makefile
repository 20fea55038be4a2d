# `make help` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two environments in one folder: what running needs, and on top of it what developing needs.
RUNNABLE := $(VENV)/.runnable
STAMP := $(VENV)/.installed
ENGINES := $(VENV)/engines
ENGINE := $(ENGINES)/.installed
S3_ENGINE := $(VENV)/.s3-engine
LOCK := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
	--python-version 3.11 --extra dynamodb
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --loglevel=error
WEB_SOURCES := $(shell find web/app/src web/sdk/src -type f) web/app/index.html web/app/host.html \
	web/app/vite.config.ts web/app/tsconfig.json
WEB_TOOLS := web/app/node_modules/.installed
SDK_TOOLS := web/sdk/node_modules/.installed
LINT_TOOLS := web/lint/node_modules/.installed
LIGHTHOUSE := web/lighthouse/node_modules/.installed
EXAMPLES := web/examples/node_modules/.installed
WEB_APP := greenroom/webapp/static/index.html
PYTEST := $(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder -p tools.sharing
QUICK := tests/accounts tests/cards tests/conversations/test_*.py tests/panel tests/platform/http \
	tests/platform/tokens tests/webapp tests/cost/test_bill.py tests/test_settings.py
# Modules are compiled once, whatever the shell says: tests start the product hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup web run test quick test-clock check check-types check-rules check-web format types limits errors events browser screenshots lighthouse bench bench-peers torture lock clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

setup: $(STAMP) $(ENGINE) ## Make the virtual environment with everything that checks and tests need

$(RUNNABLE): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Greenroom needs Python 3.11 or newer; set PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) -m tools.install run
	@touch $@

$(STAMP): $(RUNNABLE) requirements-dev.lock clients/python/pyproject.toml
	@$(PYTHON) -m tools.install dev
	@touch $@

# The engine behind the embedded DynamoDB.
$(ENGINE): engines/package-lock.json $(RUNNABLE)
	@mkdir -p $(ENGINES) && cp engines/package.json engines/package-lock.json engines/.npmrc $(ENGINES)
	@test "$$(uname -sm)" != "Linux x86_64" || $(NPM) --prefix $(ENGINES) ci > /dev/null
	@touch $@

# The engine behind the embedded S3.
$(S3_ENGINE): requirements-dev.lock $(RUNNABLE)
	@$(PYTHON) -m tools.install s3
	@touch $@

web: $(WEB_APP) ## Build the web app and the embed

$(WEB_TOOLS): $(RUNNABLE)
$(SDK_TOOLS) $(LINT_TOOLS) $(LIGHTHOUSE) $(EXAMPLES): $(STAMP)
$(WEB_TOOLS) $(SDK_TOOLS) $(LINT_TOOLS) $(LIGHTHOUSE) $(EXAMPLES): web/%/node_modules/.installed: web/%/package-lock.json
	@echo "installing npm packages of web/$*"
	@$(NPM) --prefix $(@D)/.. ci > /dev/null
	@touch $@

$(WEB_APP): $(WEB_TOOLS) $(WEB_SOURCES)
	@echo "building the web app"
	@$(NPM) --prefix web/app run build -- --logLevel error > /dev/null

run: $(RUNNABLE) $(if $(STORE),$(ENGINE)) $(if $(BLOBS),$(S3_ENGINE)) web ## Start the server with sample data and print where to go (STORE=dynamodb: in DynamoDB, BLOBS=s3: files in S3)
	@$(if $(STORE),GREENROOM_CONVERSATIONS=$(STORE) GREENROOM_DYNAMODB_ENDPOINT=embedded) \
		$(if $(BLOBS),GREENROOM_BLOBS=$(BLOBS)://greenroom GREENROOM_S3_ENDPOINT=embedded) $(BIN)/greenroom demo

test: check web browser ## Run the checks and every test, several files at a time
	$(PYTEST) --durations=10

quick: setup ## Lint, and the tests of the rooms on PostgreSQL: between edits, under a minute
	$(BIN)/ruff check .
	$(PYTEST) -k 'not dynamodb' $(QUICK)

test-clock: setup web browser ## Run the tests that touch time at other moments (MOMENT=…: one, FILES=…: others)
	$(BIN)/python -m tools.moments $(if $(MOMENT),--moment '$(MOMENT)') $(FILES)

check: setup $(WEB_TOOLS) $(SDK_TOOLS) $(LINT_TOOLS) ## Lint, format, types and the rules between rooms
	@$(MAKE) --no-print-directory -j2 --output-sync=target check-types check-rules check-web

check-types:
	$(BIN)/mypy

check-rules:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

check-web:
	$(NPM) --prefix web/app run check

format: setup $(WEB_TOOLS) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(NPM) --prefix web/app run format

types: setup $(SDK_TOOLS) ## Write the TypeScript types of the API anew
	$(BIN)/greenroom openapi --demo | $(BIN)/node web/sdk/scripts/types.mjs

limits: setup ## Write docs/limits.md anew
	@$(BIN)/python -m tools.limits

errors: setup ## Write docs/errors.md anew
	@$(BIN)/python -m tools.errors

events: setup ## Write docs/events.md anew
	@$(BIN)/python -m tools.events

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

torture: setup web browser ## Fault tests and generated histories with full counts (long)
	GREENROOM_TORTURE=full $(BIN)/pytest -s --durations=10 tests/torture tests/stores tests/client \
		tests/bookings/charging tests/files/test_killed.py tests/hardening/test_reference.py \
		tests/hardening/test_unicode.py tests/realtime/test_revocation_race.py \
		tests/conversations/polling_api/test_mixed.py tests/browser/test_accessibility.py \
		tests/browser/test_hostile_text.py tests/browser/test_snippets.py

lock: setup ## Resolve the dependencies anew
	$(LOCK) --extra stripe --group dev pyproject.toml clients/python/pyproject.toml -o requirements-dev.lock
	$(LOCK) --group run --constraint requirements-dev.lock pyproject.toml -o requirements.lock
	@touch $(RUNNABLE) $(STAMP)

clean: ## Remove the virtual environment and caches; data in .greenroom stays
	rm -rf $(VENV) web/*/node_modules web/sdk/dist greenroom/webapp/static .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
