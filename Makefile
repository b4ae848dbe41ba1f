# Every target sets up what it needs: .venv, and as root the Debian packages. A second run finds
# all of it there and goes straight to work.
.DEFAULT_GOAL := help
.SILENT:
.NOTPARALLEL:
.PHONY: help setup demo test check docs images unit process docker faults fuzz bench lock audit release-check engine clean

PYTHON ?= /usr/bin/python3
ARGS ?=
STACKS ?=
TARGETS ?= hostfile keys link output

BIN := .venv/bin
HASH := $(firstword $(shell cksum pyproject.toml))
VENV := .venv/.stamp-run-$(HASH)
DEV := .venv/.stamp-dev-$(HASH)

# What a job needs on this machine: `mpiboot local` makes its pods of the machine's own programs.
JOB := iproute2 openmpi-bin openssh-client openssh-server procps python3-mpi4py
# Any warning is an error: a page that no section has, a link or an anchor that leads nowhere.
SITE := env NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
SCRIPTS := $(filter-out %.c %.py,$(wildcard .ci/* entrypoints/* images/locks/renew images/recipes/*))

help: ## Show this list
	awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s  %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(DEV) ## Make .venv with all that development needs
	.ci/packages $(JOB) shellcheck

demo: $(VENV) ## Run a two-host MPI program on this machine: no Docker, needs root
	.ci/packages $(JOB)
	$(BIN)/mpiboot local --workers 2 --slots 1 -- /usr/bin/python3 images/programs/allreduce.py

test: check unit process docker ## Check and test everything; starts a Docker engine if none answers

check: $(DEV) ## Lint, types, import contracts, shell scripts, documentation
	.ci/packages shellcheck
	.ci/quiet ruff-check $(BIN)/ruff check
	.ci/quiet ruff-format $(BIN)/ruff format --check
	.ci/quiet mypy $(BIN)/mypy
	.ci/quiet lint-imports $(BIN)/lint-imports
	.ci/quiet shellcheck shellcheck $(SCRIPTS)
	.ci/quiet pages $(BIN)/python -m tests.pages --check
	.ci/quiet site $(SITE)

docs: $(DEV) ## Renew what the code writes into docs/, and build the site into .build/site
	$(BIN)/python -m tests.pages
	$(SITE)

unit: $(DEV) ## Pure tests; ARGS="-k name" goes to pytest, here and below
	$(BIN)/pytest tests/unit tests/fuzz $(ARGS)

process: $(DEV) ## Real processes in network namespaces; needs root
	.ci/packages $(JOB) bash-completion chromium chromium-driver curl fish git iptables prometheus \
		prometheus-pushgateway strace zsh
	.ci/mpis
	$(BIN)/pytest -n 2 --dist loadfile tests/process $(ARGS)

docker: $(DEV) images ## Real containers
	.ci/quiet compose .ci/compose
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder tests/docker $(ARGS)

faults: $(DEV) engine ## The fault matrix many times; writes docs/faults.md; ARGS="-n 10 --jobs 4 CELL"
	.ci/images openmpi4 openmpi5 mpich
	$(BIN)/python -m tests.faults $(ARGS)

fuzz: $(DEV) ## Fuzz what reads input, 5 min each target; ARGS="--seconds 60" for less
	for target in $(TARGETS); do $(BIN)/python -m tests.fuzz $$target $(ARGS) || exit; done

images: engine ## Build mpiboot/<stack>:dev and -test:dev of all stacks; STACKS="mpich openmpi5"
	.ci/images $(STACKS)

engine:
	.ci/engine start

bench: $(DEV) ## Every goal beside its baseline; ARGS="-n 5 --keep hostname-4 react"
	.ci/packages $(JOB) gcc libopenmpi-dev tini
	.ci/mpis
	$(BIN)/python -m bench $(ARGS)

lock: $(DEV) ## Pin and hash what the images take from PyPI anew; ARGS="mpi4py"
	images/locks/renew $(ARGS)

audit: $(DEV) ## Ask PyPI's advisories about the agent's locked packages; needs a network
	$(BIN)/pip-audit --strict --disable-pip --require-hashes -r images/locks/agent.txt $(ARGS)

release-check: check engine ## Build dist/ of the commit, and test it in clean Debians; publishes nothing
	.ci/packages git
	.ci/images openmpi4
	.ci/release

clean: ## Remove .venv, caches and build files; images stay
	rm -rf .venv .mpi .build dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# The stamps carry pyproject.toml's checksum: a checkout that only renews its time installs nothing.
$(VENV):
	.ci/packages ca-certificates python3-venv
	test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	.ci/quiet venv $(BIN)/pip install -q --disable-pip-version-check -e .
	rm -f .venv/.stamp-run-* && touch $@

$(DEV): $(VENV) # dependency groups need a newer pip than Debian 12 has
	.ci/quiet venv-pip $(BIN)/pip install -q --disable-pip-version-check -U 'pip>=25.1'
	.ci/quiet venv-dev $(BIN)/pip install -q --disable-pip-version-check --group dev --group docs -e .
	.ci/quiet venv-fuzz $(BIN)/pip install -q --disable-pip-version-check --only-binary atheris --group fuzz \
		|| echo 'no fuzzing here: this machine has no wheel of atheris'
	rm -f .venv/.stamp-dev-* && touch $@
