.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEPLOY := .venv-deploy
SAM := SAM_CLI_TELEMETRY=0 $(DEPLOY)/bin/sam
STAGE ?= dev
COMPOSE := docker compose --file localstack/compose.yaml
COMPOSE_STORES := TASKMILL_KAFKA_BROKERS=127.0.0.1:29092 TASKMILL_REDIS_URL=redis://127.0.0.1:26379/0 \
	TASKMILL_POSTGRES_DSN=postgresql://taskmill_app@127.0.0.1:25432/taskmill \
	TASKMILL_POSTGRES_OWNER_DSN=postgresql://taskmill_owner@127.0.0.1:25432/taskmill
# The locks name everything: nothing is resolved, and a dot for each package is the progress.
INSTALL = -m pip install --disable-pip-version-check --progress-bar off --require-hashes --no-deps
DOTS := | awk '/^(Collecting|Installing)/ {printf "."; fflush()} END {print ""}'
BENCH_VENV := .venv-bench
DOCS_VENV := .venv-docs
TYPE_LOCKS := $(wildcard functions/workers/*/requirements.txt)

.PHONY: help demo up test check template lock clean bench build deploy

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.types ## run sample tasks through the whole system, then stop it
	@$(BIN)/taskmill demo

up: $(VENV)/.types $(if $(filter compose,$(STACK)),containers) ## start the whole system on this machine; Ctrl-C stops it; STACK=compose runs the stores in containers
	@$(if $(filter compose,$(STACK)),$(COMPOSE_STORES)) $(BIN)/taskmill up

.PHONY: containers
containers:
	@$(COMPOSE) up --detach --wait

test: $(VENV)/.dev $(VENV)/.types ## run every test, including fault injection (about 30 minutes)
	@$(BIN)/pytest --numprocesses 2

.PHONY: models
models: $(VENV)/.dev ## explore the protocol models deeper than the tests do; TRACES=1 prints the trace of each broken variant
	@$(BIN)/python -m tests.models $(if $(TRACES),--traces)

.PHONY: house
house: $(VENV)/.dev $(VENV)/.types ## count the files and jumps on a task's way, the folders and the names, beside their limits
	@$(BIN)/python -m tests.house

.PHONY: soak
MINUTES ?= 30
soak: $(VENV)/.dev $(VENV)/.types ## inject every kind of fault for MINUTES=30; prints its seed, SEED=… repeats a run
	@$(BIN)/python -m tests.faults.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

.PHONY: prove
prove: $(VENV)/.dev $(VENV)/.types ## run a fault test at its full size: NAME=head-of-line; rolling-deploy and way-back also take AGAINST=<git ref>
	@test -n "$(NAME)" || { echo "say which proof: make prove NAME=head-of-line" >&2; exit 1; }
	@PROVE=1 AGAINST=$(AGAINST) $(BIN)/pytest tests/faults/test_$(subst -,_,$(NAME)).py

.PHONY: fuzz
fuzz: $(VENV)/.dev ## fuzz the decoders and the HTTP front for MINUTES=5; prints its seed, SEED=… repeats a run
	@$(BIN)/python -m tests.fuzz $(if $(filter command line,$(origin MINUTES)),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

check: $(VENV)/.dev $(VENV)/.types $(DEPLOY)/.ready ## run every static check
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python infra/assemble.py --check
	@infra/check_template.sh $(BIN) $(DEPLOY)/bin
	@infra/check_locks.sh $(BIN)/uv

template: $(VENV)/.types ## assemble template.yaml, the reference pages and the other generated files
	@$(BIN)/python infra/assemble.py

build: $(DEPLOY)/.ready ## build the layer and the functions for AWS and print their sizes (needs python3.13)
	@command -v python3.13 >/dev/null || { echo "the functions run on Python 3.13: put python3.13 on PATH" >&2; exit 1; }
	@$(SAM) build --cached >.aws-sam.log 2>&1 || { cat .aws-sam.log >&2; exit 1; }
	@rm .aws-sam.log
	@python3.13 infra/finish_build.py .aws-sam/build

deploy: build ## build, then deploy a stage of samconfig.toml: STAGE=dev or STAGE=prod
	@$(SAM) deploy --config-env $(STAGE)

bench: $(VENV)/.types $(BENCH_VENV)/.ready ## measure taskmill next to Celery and Dramatiq; AGAINST=<git ref> compares versions
	@$(BIN)/taskmill bench $(if $(AGAINST),--against $(AGAINST))

lock: $(VENV)/.dev ## pin new dependencies; TYPE=name pins one type only, UPGRADE=1 takes the newest versions
	@infra/lock.sh $(BIN)/uv $(BIN)/python

.PHONY: docs
docs: template $(DOCS_VENV)/.ready ## build the documentation as a site in site/; SERVE=1 serves it at localhost:8000
	@$(DOCS_VENV)/bin/zensical $(if $(SERVE),serve,build --clean --strict)

clean: ## remove the data that `make up` keeps, unless the system is running
	@$(PYTHON) infra/clean.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("taskmill needs Python 3.11 or newer; this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.local: $(VENV)/bin/python locks/local.lock pyproject.toml localstack/taskmill_local/stores/jars.lock
	@echo "installing what the local system needs (the first time this downloads about 300 MB) …"
	@$(BIN)/python $(INSTALL) -r locks/local.lock $(DOTS)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@$(BIN)/python -m taskmill_local.stores.jars install
	@$(BIN)/python -m taskmill_local.stores.class_data_archive
	@touch $@

# A worker's own packages; here all types share one environment, deployed each has its own.
$(VENV)/.types: $(VENV)/.local $(TYPE_LOCKS)
	@for lock in $(TYPE_LOCKS); do \
	  echo "installing $$lock …"; $(BIN)/python $(INSTALL) -r $$lock $(DOTS) || exit 1; done
	@touch $@

$(VENV)/.dev: $(VENV)/.local locks/dev.lock
	@echo "installing what the tests need …"
	@$(BIN)/python $(INSTALL) -r locks/dev.lock $(DOTS)
	@touch $@

$(DEPLOY)/.ready: locks/deploy.lock $(VENV)/bin/python
	@echo "installing what building and deploying need (about 350 MB) …"
	@$(PYTHON) -m venv $(DEPLOY)
	@$(DEPLOY)/bin/python $(INSTALL) -r locks/deploy.lock $(DOTS)
	@touch $@

$(BENCH_VENV)/.ready: locks/bench.lock $(VENV)/bin/python
	@echo "installing the yardsticks …"
	@$(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python $(INSTALL) -r locks/bench.lock $(DOTS)
	@touch $@

$(DOCS_VENV)/.ready: locks/docs.lock $(VENV)/bin/python
	@echo "installing what building the documentation needs …"
	@$(PYTHON) -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/python $(INSTALL) -r locks/docs.lock $(DOTS)
	@touch $@
