# Everything starts here: `make play`, `make test`. Nothing is needed but Python 3.11+, gcc and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PLAY   := $(VENV)/.installed-play
DEV    := $(VENV)/.installed-dev
export UV_NO_PROGRESS ?= 1
export UV_LINK_MODE ?= hardlink
# Python keeps compiled modules. Without them each start of jitrl takes seconds, and tests start a thousand processes.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup play test docs lock wheel install-ways clean soak soak-postgres soak-ray qwen results pictures bench-memory bench-games bench-graph bench-llm bench-postgres bench-ray bench-search bench-ui bench-web mutants

help:  ## Show what make can do
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(DEV)  ## Make .venv with everything that development and tests need, from the hashed lock

$(PLAY): requirements.lock pyproject.toml hatch_build.py engine/interpreter_compiler.py
	@$(call install,requirements.lock)
	@touch $@

$(DEV): requirements-dev.lock pyproject.toml hatch_build.py engine/interpreter_compiler.py
	@$(call install,requirements-dev.lock)
	@touch $(PLAY) $@

# Makes .venv, and puts the packages of a lock and jitrl itself into it. The setting is for uv: what it built before with
# another compiler is not used again.
define install
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "jitrl needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.11" >&2; exit 3; }; \
for tool in gcc make; do command -v $$tool >/dev/null || { echo "jitrl builds Jericho's game interpreter and needs $$tool; try: apt install gcc make" >&2; exit 3; }; done; \
if [ ! -x $(BIN)/python ]; then \
  if command -v uv >/dev/null; then uv venv --quiet --python $(PYTHON) $(VENV); \
  else $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "python3 cannot make a virtual environment; try: apt install python3-venv" >&2; exit 3; }; fi; fi; \
command -v uv >/dev/null || [ -x $(BIN)/uv ] || $(BIN)/python -m pip install --quiet uv || exit 3; \
echo "Installing into $(VENV) (a minute or two the first time: the game interpreter is compiled) ..." >&2; \
UV=$$(command -v uv || echo $(BIN)/uv); LOG=$(VENV)/install.log; export CC="$$($(PYTHON) engine/interpreter_compiler.py)"; { \
  $$UV pip install --python $(BIN)/python --no-deps --require-hashes --config-setting "compiler=$$CC" -r $(1) && \
  $$UV pip install --python $(BIN)/python --no-deps --no-build-isolation -e . ; } >$$LOG 2>&1 || \
  { tail -n 30 $$LOG >&2; echo "Installing failed; the whole log is $$LOG. Is the package index reachable?" >&2; exit 3; }
endef

play: $(PLAY)  ## Open the app and watch the agent play
	@$(BIN)/jitrl

# Collecting keeps the tests compiled. Each worker would compile all of them otherwise, the first time.
test: setup  ## Lint, types, import contracts and every test
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest --collect-only >/dev/null 2>&1 & $(BIN)/mypy; found=$$?; wait; exit $$found
	$(BIN)/python -m pytest -m "not soak" -n $$(($$(nproc) + 2)) --dist worksteal

docs: setup  ## Build the docs as a site, in the folder site
	@UV=$$(command -v uv || echo $(BIN)/uv); $$UV pip install --quiet --python $(BIN)/python --group docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet && echo "Look at site/index.html" >&2

qwen: $(PLAY)  ## Install and join a stronger local model, Qwen2.5-Coder-1.5B (1.1 GB)
	@$(BIN)/jitrl up qwen
	@$(BIN)/jitrl models add local/qwen2.5-coder-1.5b

soak: setup  ## Long fault trials, and tests marked soak (INPUTS=N: so many fuzzed inputs)
	$(BIN)/python -m tests.bench.soak $(INPUTS)

soak-postgres: setup  ## Long fault trials of a shared memory: killed workers, killed servers
	$(BIN)/python -m tests.bench.soak_postgres

soak-ray: setup  ## Long fault trials of benchmarks on Ray: killed workers, nodes and head nodes
	$(BIN)/python -m tests.bench.soak_ray

results: $(PLAY)  ## Measure learning on six games anew (hours; `jitrl bench resume last` goes on where it stopped)
	$(BIN)/jitrl bench games

bench-memory bench-games bench-graph bench-llm bench-postgres bench-ray bench-search bench-ui bench-web: setup  ## Measure: one JSON line a figure, peer and ours in one run
	@$(BIN)/python -m tests.bench.$(subst -,_,$(@:bench-%=bench_%))

mutants: setup  ## Break ten modules in thirty places, and say which test sees each (half an hour)
	@$(BIN)/python -m tests.bench.mutants

pictures: setup  ## Make the pictures of the docs anew, from sessions played here and now
	@$(BIN)/python -m tests.tui.pictures

lock:  ## Resolve both locks anew (hashes, no index addresses)
	@UV=$$(command -v uv || echo $(BIN)/uv); LOCK="$$UV pip compile pyproject.toml --universal --generate-hashes \
	  --no-header --no-annotate --no-emit-index-url --no-emit-find-links --quiet --group play"; \
	  $$LOCK --group dev -o requirements-dev.lock && $$LOCK -c requirements-dev.lock -o requirements.lock

wheel:  ## Build the wheel into dist/; it carries Jericho and SmolLM2
	@UV=$$(command -v uv || echo $(BIN)/uv); $$UV build --quiet --wheel -o dist && ls -l dist/*.whl

install-ways: wheel  ## Install in every way on every Python here, and play a game in each (minutes)
	$(PYTHON) -m tests.install_ways

clean:  ## Remove the environment and caches (never saves/)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist site
