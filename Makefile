# PYTHON: any Python from 3.11 on, e.g. make test PYTHON=python3.12
PYTHON ?= python3
VENV ?= .venv
PROTO_VENV ?= .venv-proto
OLDEST_VENV ?= .venv-oldest
RIVALS_VENV ?= .venv-rivals

BIN := $(VENV)/bin
SETUP := scripts/make_environment.py
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
NEW_ENOUGH = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	{ echo 'error: $(PYTHON) is missing or older than Python 3.11; name another: make PYTHON=python3.11 ...' >&2; exit 4; }
# Stamps lie inside the environments, one for each Python, so that a new environment starts without any.
SERVER := $(VENV)/stamps/server-$(VERSION)
DEV := $(VENV)/stamps/dev-$(VERSION)
PROTO := $(PROTO_VENV)/stamps/proto-$(VERSION)

CODE := arbiter workers sample_bots benchmarks tests scripts

.DEFAULT_GOAL := help
.PHONY: help demo test check proto compiled interpreted bench rivals differential storm pins oldest clean

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 18

demo: $(SERVER)  ## install what a host needs and play a tournament between the sample bots
	$(BIN)/arbiter demo

# Two at a time, a file each and the long ones early: much of the time tests wait for processes to start or to end.
test: $(DEV) $(PROTO)  ## install what the tests need and pass them
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: $(DEV)  ## style, types, arrows between the parts, contract
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(CODE)
	$(BIN)/lint-imports
	$(BIN)/buf lint proto

proto: $(PROTO)  ## generate arbiter/api from proto/
	$(PROTO_VENV)/bin/python scripts/generate_proto.py

compiled: $(DEV)  ## compile the hot path in place and try it; see docs/performance.md
	$(BIN)/python scripts/compile_hot_path.py
	$(BIN)/python -m pytest tests/engine tests/rules tests/deals tests/match tests/sdk

interpreted:  ## remove what was compiled
	$(PYTHON) scripts/compile_hot_path.py --remove

bench: $(DEV)  ## measure hands per second beside the alternatives that are installed
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.openspiel

rivals: $(DEV)  ## install kaggle-environments and python-chess, 1.3 GB, for make bench
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(RIVALS_VENV)
	$(BIN)/uv pip install --quiet --python $(RIVALS_VENV) --group rivals

differential: $(DEV)  ## compare the engine with OpenSpiel and the naive implementation in full: some minutes
	$(BIN)/python -m tests.rules.perft
	$(BIN)/python -m tests.rules.openspiel --hands 20000

storm: $(DEV)  ## kill and freeze parts of a service 200 times while it plays: some ten minutes
	$(BIN)/python -m tests.e2e.storm

pins: $(DEV)  ## follow pyproject.toml in requirements/; PINS=--upgrade takes the newest versions
	$(BIN)/python scripts/pin_requirements.py $(PINS)

oldest: $(DEV) $(PROTO)  ## pass the tests on the oldest versions that pyproject.toml allows
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(OLDEST_VENV)
	$(BIN)/uv pip install --quiet --python $(OLDEST_VENV) --resolution lowest-direct -e '.[dev]'
	$(OLDEST_VENV)/bin/python -m pytest

clean: interpreted  ## remove the environments and what was compiled
	rm -rf $(VENV) $(PROTO_VENV) $(OLDEST_VENV) $(RIVALS_VENV)

$(SERVER): pyproject.toml requirements/server.txt requirements/tools.txt $(SETUP)
	@$(NEW_ENOUGH)
	@$(PYTHON) $(SETUP) $(VENV) requirements/server.txt --project --stamp $@

$(DEV): pyproject.toml requirements/dev.txt requirements/tools.txt $(SETUP)
	@$(NEW_ENOUGH)
	@$(PYTHON) $(SETUP) $(VENV) requirements/dev.txt --project --stamp $@

$(PROTO): requirements/proto.txt requirements/tools.txt $(SETUP)
	@$(NEW_ENOUGH)
	@$(PYTHON) $(SETUP) $(PROTO_VENV) requirements/proto.txt --stamp $@
