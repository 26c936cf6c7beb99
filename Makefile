# Every target does its own set-up: a virtual environment with the locked dependencies, nothing else.
PYTHON ?= python3
VENV := .venv
EXTRAS := .venv-extras
ENVIRONMENTS := .venv-environments
REWARD_LLM := .venv-reward-llm
CLUSTER := .venv-cluster
DOCS := .venv-docs
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Every target starts many processes, and each would compile our modules anew where Python's caches are turned off.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow lint ui record bench docs clean clean-data test-browser test-extras test-environments test-cluster test-parts test-reward-llm test-sandbox test-faults test-endurance test-hostile test-tau2 lock

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 15) else f"Python 3.11 to 3.14 is needed, this is {v[0]}.{v[1]}; say for example: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked dependencies into $(VENV) (once; a minute or two) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup: $(READY)  ## make the virtual environment

demo: $(READY)  ## make a small complete release on the embedded model: no key, no network
	@$(BIN)/amemgym demo

test: $(READY)  ## run the tests but those of processes: every stage and command, whole releases and evaluations
	@$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

test-slow: $(READY)  ## run the other tests: kills, Dagster's servers, sandboxes, recordings
	@$(BIN)/python -m pytest -n auto --dist worksteal -m slow

test-parts: $(READY)  ## take each part away (a track, a world of others, an extra), and test what is left
	@$(BIN)/python -m pytest -n auto tests/parts

lint: $(READY)  ## style, types, import contracts
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports
	@$(BIN)/pyright --pythonpath $(BIN)/python

ui: $(READY)  ## open the Dagster UI on http://127.0.0.1:3000
	@$(BIN)/amemgym ui

record: $(READY)  ## ask AMEMGYM_BASE_URL for what tests/recorded lacks (FOLDER=... to go on)
	@$(BIN)/python -m tests.recorded $(FOLDER)

bench: $(READY)  ## measure speed and memory as ratios in one run
	@$(BIN)/python -m tests.bench

$(DOCS)/.ready: pipelines/docs_site/requirements.lock
	@$(PYTHON) -m venv $(DOCS)
	@$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

docs: $(READY) $(DOCS)/.ready  ## build the documentation as a site, site/html/index.html; a link that leads nowhere fails
	@$(BIN)/python -m pipelines.docs_site site
	@$(DOCS)/bin/zensical build --strict --clean --config-file site/zensical.toml

test-browser: $(READY)  ## drive the real UI in a headless browser (installs Debian's chromium if it is missing)
	@tests/browser/install.sh $(BIN)/python
	@$(BIN)/pyright --pythonpath $(BIN)/python --project tests/browser
	@$(BIN)/python -m pytest -m browser tests/browser

test-extras: $(READY)  ## run the optional extras (Mem0, MCP servers, Inspect) for real, in .venv-extras
	@tests/extras/install.sh $(PYTHON) $(EXTRAS)
	@$(BIN)/pyright --pythonpath $(EXTRAS)/bin/python --project tests/extras
	@$(EXTRAS)/bin/python -m pytest -n auto tests/extras

test-environments: $(READY)  ## load and step exported environments with verifiers, in .venv-environments
	@tests/environments/install.sh $(PYTHON) $(ENVIRONMENTS)
	@$(ENVIRONMENTS)/verifiers/bin/python -m pytest tests/environments/test_verifiers.py

$(CLUSTER)/.ready: $(READY) tests/cluster/requirements.lock
	@tests/cluster/install.sh $(PYTHON) $(CLUSTER)

test-cluster: $(CLUSTER)/.ready  ## the same bytes from two workers on Redis and Postgres, also when they are killed
	@$(BIN)/pyright --pythonpath $(CLUSTER)/bin/python --project tests/cluster
	@$(CLUSTER)/bin/python -m pytest tests/cluster

test-sandbox: $(READY)  ## attack bubblewrap (installs Debian's if it is missing), and all boundaries as an ordinary user
	@tests/assets/isolation/install.sh
# Where users get no namespaces of their own, as in many containers, it is told that it was not attacked.
	@AMEMGYM_TEST_BOUNDARIES=bubblewrap $(BIN)/python -m pytest -rs -k "attacks or promises or hold" tests/assets/isolation
	@AMEMGYM_TEST_BOUNDARIES="bubblewrap namespaces landlock" tests/assets/isolation/as_nobody.sh $(BIN)/python -m pytest -rs -p no:cacheprovider -k page_says tests/assets/isolation

test-reward-llm: $(READY)  ## fine-tune a tiny language model on rows of memories (half a minute; first installs torch, 1.2 GB in a minute)
	@tests/reward_llm/install.sh $(PYTHON) $(REWARD_LLM)
	@$(REWARD_LLM)/bin/python -m pytest tests/reward_llm

test-tau2: $(READY)  ## play all 287 tasks of tau2-bench with the right calls, and with none (three minutes; test-extras plays some)
	@tests/extras/install.sh $(PYTHON) $(EXTRAS)
	@AMEMGYM_TAU2=all $(EXTRAS)/bin/python -m pytest -n auto tests/extras/test_tau2.py

test-faults: $(READY)  ## every kind of fault of an endpoint, alone and under a cap, as a table (CELLS="drops or redirect" for some)
	@$(BIN)/python -m pytest -s -n auto -o faulthandler_timeout=0 tests/faults/test_matrix.py tests/faults/test_caps.py -k "$(or $(CELLS),test)"

test-endurance: $(READY)  ## kills, damage and large runs, cell by cell, as a table (hours; CELLS="SIGKILL or damaged" for some)
	@AMEMGYM_TEST_EVERY_CELL=1 $(BIN)/python -m pytest -s -o faulthandler_timeout=0 tests/faults --ignore tests/faults/test_matrix.py --ignore tests/faults/test_caps.py \
	  tests/dataset_card/hub/test_faults.py tests/dataset_card/hub/test_concurrent_publishers.py \
	  tests/pipelines/cli/test_stopped_calls.py tests/pipelines/cli/test_interrupts.py tests/assets/isolation/test_attacks.py -k "$(or $(CELLS),test)"

test-hostile: $(READY)  ## 10,000 releases with a hostile text in one field: no file outside, no traceback
	@AMEMGYM_TEST_HOSTILE_RELEASES=10000 $(BIN)/python -m pytest -o faulthandler_timeout=0 tests/pipelines/test_hostile_releases.py

lock:  ## compile the lock files anew (needs uv)
	@uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	  --python-version 3.11 --group dev --group build pyproject.toml --output-file requirements.lock
	@uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	  --python-version 3.11 --group pyproject.toml:browser --constraint requirements.lock \
	  --output-file tests/browser/requirements.lock
	@uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	  --python-version 3.11 --group pyproject.toml:docs --output-file pipelines/docs_site/requirements.lock
# Chosen by hand, and without what it does not import: with it it is half a gigabyte.
	@uv pip compile --quiet --universal --no-deps --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	  --python-version 3.11 tests/environments/verifiers.in --output-file tests/environments/verifiers.lock
# The extras keep to the lock, but for fsspec and numpy, of which Inspect wants older ones.
	@sed -E '/^(fsspec|numpy)==/,/[^\\]$$/d' requirements.lock | uv pip compile --quiet --universal --generate-hashes --no-emit-index-url \
	  --no-emit-find-links --no-annotate --no-header --python-version 3.11 --extra mem0 --extra mcp --extra inspect --extra tau2 --extra swe --group dev --group build \
	  --constraint - pyproject.toml tests/extras/requirements.in --output-file tests/extras/requirements.lock
	@uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	  --python-version 3.11 --extra cluster --group dev --group build --constraint requirements.lock pyproject.toml \
	  --output-file tests/cluster/requirements.lock

clean:  ## remove the virtual environments and the tools' caches; data/ stays
	@rm -rf $(VENV) $(EXTRAS) $(ENVIRONMENTS) $(REWARD_LLM) $(CLUSTER) $(DOCS) site .pytest_cache .ruff_cache .hypothesis .import_linter_cache

clean-data:  ## remove data/ for good: paid replies, ledger, snapshots, releases, evaluations
	@rm -rf data
