.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
HOME_DIR := $(or $(TASKMILL_HOME),.taskmill)
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate pyproject.toml

.PHONY: help demo up test check template lock clean bench

help: ## explain the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.local ## show the main job: tasks go through the whole system, then everything stops
	@$(BIN)/taskmill demo

up: $(VENV)/.local ## start the whole system on this machine and stay (Ctrl-C stops it)
	@$(BIN)/taskmill up

test: $(VENV)/.dev ## run every test
	@$(BIN)/pytest

check: $(VENV)/.dev ## run every static check
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python infra/assemble.py --check
	@infra/check_locks.sh $(BIN)/uv

template: $(VENV)/.local ## assemble template.yaml and the catalogue of types from the folders
	@$(BIN)/python infra/assemble.py

bench: $(VENV)/.local ## measure: drain rate, CPU per task, latency
	@$(BIN)/taskmill bench

lock: $(VENV)/.dev ## resolve the dependencies anew and write the lock files
	@$(COMPILE) --upgrade --group dev -o requirements-dev.lock
	@$(COMPILE) --constraint requirements-dev.lock --group local -o requirements.lock
	@$(COMPILE) --constraint requirements-dev.lock -o shared/requirements.txt
	@$(BIN)/python -m taskmill_local.stores.jars lock

clean: ## forget the state that `make up` keeps
	@rm -rf -- $(HOME_DIR)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("taskmill needs Python 3.11 or newer; this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.local: $(VENV)/bin/python requirements.lock pyproject.toml localstack/taskmill_local/stores/jars.lock
	@echo "installing what the local system needs (the first time this downloads about 300 MB) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@$(BIN)/python -m taskmill_local.stores.jars install
	@touch $@

$(VENV)/.dev: $(VENV)/.local requirements-dev.lock
	@echo "installing what the tests need …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@
