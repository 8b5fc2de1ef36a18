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
HOME_DIR := $(or $(TASKMILL_HOME),.taskmill)
RESOLVE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate
COMPILE := $(RESOLVE) pyproject.toml

.PHONY: help demo up test check template lock clean bench build deploy

help: ## explain the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.local ## show the main job: tasks go through the whole system, then everything stops
	@$(BIN)/taskmill demo

up: $(VENV)/.local $(if $(filter compose,$(STACK)),containers) ## start the whole system on this machine and stay (Ctrl-C stops it); STACK=compose has the stores in containers
	@$(if $(filter compose,$(STACK)),$(COMPOSE_STORES)) $(BIN)/taskmill up

.PHONY: containers
containers:
	@$(COMPOSE) up --detach --wait

test: $(VENV)/.dev ## run every test, those under faults beside the others (some half an hour)
	@$(BIN)/pytest --numprocesses 2

.PHONY: models
models: $(VENV)/.dev ## explore the models of the protocol deeper than the tests do; TRACES=1 shows what breaks broken twins
	@$(BIN)/python -m tests.models $(if $(TRACES),--traces)

.PHONY: soak
MINUTES ?= 30
soak: $(VENV)/.dev ## mix every fault for MINUTES=30 under a seed that is printed; SEED=… repeats one
	@$(BIN)/python -m tests.faults.soak --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

.PHONY: fuzz
fuzz: $(VENV)/.dev ## feed decoders and front with what breaks others for MINUTES=5 under a seed that is printed; SEED=… repeats one
	@$(BIN)/python -m tests.fuzz $(if $(filter command line,$(origin MINUTES)),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED))

check: $(VENV)/.dev $(DEPLOY)/.ready ## run every static check
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python infra/assemble.py --check
	@infra/check_template.sh $(BIN) $(DEPLOY)/bin
	@infra/check_locks.sh $(BIN)/uv

template: $(VENV)/.local ## assemble template.yaml and the catalogue of types from the folders
	@$(BIN)/python infra/assemble.py

build: $(DEPLOY)/.ready ## build the layer and the functions for the cloud, and print their sizes (needs python3.13)
	@command -v python3.13 >/dev/null || { echo "the functions run on Python 3.13: put python3.13 on PATH" >&2; exit 1; }
	@$(SAM) build --cached >.aws-sam.log 2>&1 || { cat .aws-sam.log >&2; exit 1; }
	@rm .aws-sam.log
	@python3.13 infra/finish_build.py .aws-sam/build

deploy: build ## build, and deploy the stage of samconfig.toml: STAGE=dev or STAGE=prod
	@$(SAM) deploy --config-env $(STAGE)

bench: $(VENV)/.local $(BENCH_VENV)/.ready ## measure next to yardsticks; AGAINST=<git ref> compares versions
	@$(BIN)/taskmill bench $(if $(AGAINST),--against $(AGAINST))

lock: $(VENV)/.dev ## resolve the dependencies anew and write the lock files
	@$(COMPILE) --upgrade --group dev -o requirements-dev.lock
	@$(COMPILE) --constraint requirements-dev.lock --group local -o requirements.lock
	@$(COMPILE) --constraint requirements-dev.lock -o shared/requirements.txt
	@for asked in $$(find functions -name requirements.in); do \
	  $(RESOLVE) --constraint requirements-dev.lock $$asked -o $${asked%.in}.txt || exit 1; done
	@$(RESOLVE) --upgrade --group pyproject.toml:deploy -o requirements-deploy.lock
	@$(RESOLVE) --upgrade --group pyproject.toml:bench -o requirements-bench.lock
	@$(BIN)/python -m taskmill_local.stores.jars lock

clean: ## forget the state that `make up` keeps
	@rm -rf -- $(HOME_DIR)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("taskmill needs Python 3.11 or newer; this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	@echo "making $(VENV) …"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.local: $(VENV)/bin/python requirements.lock pyproject.toml localstack/taskmill_local/stores/jars.lock
	@echo "installing what the local system needs (the first time this downloads about 300 MB) …"
	@$(BIN)/python $(INSTALL) -r requirements.lock $(DOTS)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@$(BIN)/python -m taskmill_local.stores.jars install
	@touch $@

$(VENV)/.dev: $(VENV)/.local requirements-dev.lock
	@echo "installing what the tests need …"
	@$(BIN)/python $(INSTALL) -r requirements-dev.lock $(DOTS)
	@touch $@

$(DEPLOY)/.ready: requirements-deploy.lock $(VENV)/bin/python
	@echo "installing what building and deploying need (about 350 MB) …"
	@$(PYTHON) -m venv $(DEPLOY)
	@$(DEPLOY)/bin/python $(INSTALL) -r requirements-deploy.lock $(DOTS)
	@touch $@

$(BENCH_VENV)/.ready: requirements-bench.lock $(VENV)/bin/python
	@echo "installing the yardsticks …"
	@$(PYTHON) -m venv $(BENCH_VENV)
	@$(BENCH_VENV)/bin/python $(INSTALL) -r requirements-bench.lock $(DOTS)
	@touch $@
