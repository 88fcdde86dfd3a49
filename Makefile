# Two commands matter: `make run` and `make test`. Everything expensive is kept outside the checkout,
# in GAPBOOK_CACHE (default ~/.cache/gapbook), by version and hash.
SHELL := /bin/bash
PYTHON ?= python3
CACHE := $(if $(GAPBOOK_CACHE),$(GAPBOOK_CACHE),$(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/gapbook)
ENVIRONMENT := .venv
READY := $(ENVIRONMENT)/.ready
QUICK := -p blocks=1 -p sessions=1 -p attempts=2 -p kills=0 -p window_s=2 -p warmup_s=1 \
	-p contestants=drizzle-rpc,procedure-rpc,procedure-rpc-rust,postgres-rust,postgres-rust-deep,postgres-waits-deep,spacetimedb-rust-deep,spacetimedb-2-rust-deep,spacetimedb-2-waits-deep
# From the indexes that the reader names, and otherwise as if nobody had set anything.
PACKAGES := UV_CACHE_DIR=$(CACHE)/uv $(ENVIRONMENT)/bin/python -I gapbook/package_index.py
UV := $(PACKAGES) $(ENVIRONMENT)/bin/uv
# What these goals compile needs more of the machine; it is looked at before the first package comes.
BUILDS := $(if $(filter run test test-all bench faults setup every-version,$(MAKECMDGOALS)),--build)

# Compiled Python is kept, or every start of a kernel compiles its libraries again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test test-all book bench faults doctor setup every-version check requirements

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

run: $(READY) ## set up, measure the chapter both-optimized live, each contestant once, render its page
	$(ENVIRONMENT)/bin/gapbook setup --book
	@# 3: measured, though most trials were refused; the command has said why.
	$(ENVIRONMENT)/bin/gapbook run both-optimized $(QUICK) || test $$? = 3

test: every-version check ## set up and run all tests: unit, real servers, the book in a real browser; at the end a row for each system
	$(ENVIRONMENT)/bin/python -m tests.whole

test-all: every-version check ## all tests, with every case of what is long by nature; the result is written down
	$(ENVIRONMENT)/bin/python -m tests.whole --all

book: $(READY) ## the published book from stored runs: no server, no network
	$(ENVIRONMENT)/bin/gapbook book

bench: every-version ## the project's own speed against its peers: ratios of alternating runs
	$(ENVIRONMENT)/bin/python -m bench

faults: every-version ## kill, fill, stop and lie to the harness at 1,000 moments: what it leaves behind, what it loses; goes on where it was
	$(ENVIRONMENT)/bin/python -m faults

doctor: $(READY) ## what is here, what is missing, how to get it
	$(ENVIRONMENT)/bin/gapbook doctor

setup: $(READY) ## build clients, install servers and packages
	$(ENVIRONMENT)/bin/gapbook setup

every-version: $(READY) ## the same, with all versions of each server, as tests need them
	$(ENVIRONMENT)/bin/gapbook setup --every-version

# What the type checker learned of a file holds in every checkout while the file's content is the same.
check: $(READY) ## declarations; formatter, linter and type checker of Python, that of the clients too (other languages: make test)
	$(ENVIRONMENT)/bin/ruff format --check -q .
	$(ENVIRONMENT)/bin/ruff check -q .
	MYPY_CACHE_DIR=$(CACHE)/mypy $(ENVIRONMENT)/bin/mypy
	$(ENVIRONMENT)/bin/gapbook check

requirements: $(READY) ## resolve and hash requirements.in into requirements.txt
	$(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-header -q --overrides overrides.in requirements.in -o requirements.txt

$(READY): requirements.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "gapbook: $(PYTHON) is missing; install it: apt-get install python3 python3-venv" >&2; exit 2; }
	@$(PYTHON) -I gapbook/prerequisites.py $(BUILDS)
	@echo "Python packages: started, about 2 min (10 s when the cache is warm)"
	$(PYTHON) -m venv $(ENVIRONMENT)
	@grep -A100 '^uv==' requirements.txt | sed -n '1p;2,/^[a-z]/{/^ .*--hash/p}' > $(ENVIRONMENT)/uv.txt
	$(PACKAGES) $(ENVIRONMENT)/bin/python -I -m pip install -q --require-hashes -r $(ENVIRONMENT)/uv.txt
	$(UV) pip sync -q --python $(ENVIRONMENT) --require-hashes requirements.txt
	$(UV) pip install -q --python $(ENVIRONMENT) --no-deps --no-build-isolation -e .
	@# -I: a folder of PYTHONPATH cannot hide a module from the command.
	@sed -i '1s|^#!.*/python[0-9.]*$$|& -I|' $(ENVIRONMENT)/bin/gapbook
	@touch $@
