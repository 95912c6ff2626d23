# make demo: set up, then run the main job on the embedded collection.   make test: set up, then check everything.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test oldest check format docs lock bench asan wheels studies papers mslr clean

demo: $(VENV)/run.done
	$(BIN)/surefoot demo -o demo

test: check
	$(BIN)/python -m pytest -n auto --quiet

# The oldest allowed version of every dependency, in an environment of its own. Old packages warn of newer ones. Tests of risk
# and statistics are left out: they compare with scipy, whose oldest version is less exact.
oldest:
	$(MAKE) VENV=build/oldest build/oldest/oldest.done
	build/oldest/bin/python -m pytest -n auto --quiet -W ignore::DeprecationWarning tests/analysis tests/cli tests/effectiveness \
	    tests/guard tests/io tests/judgments tests/learn tests/native tests/show

check: $(VENV)/dev.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/dev.done
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/docs.done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

bench: $(VENV)/bench.done
	$(BIN)/python -m benchmarks

# The kernels and the parsers in a copy whose library stops at the first wrong access or undefined operation (gcc on Linux).
asan: $(VENV)/dev.done
	rm -rf build/asan && mkdir -p build && cp -R src build/asan
	CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -g1" PYTHONPATH=build/asan \
	    $(BIN)/python -m surefoot.native.build
	$(CHECKED) -m pytest -n auto --quiet tests/native
	$(CHECKED) -m tests.fuzz.fuzzer 300 --seed 5
# libstdc++ is loaded first, as LightGBM and XGBoost throw exceptions; the fuzzer reads standard error, so reports go to files.
CHECKED = LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so) $$($${CC:-cc} -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0:log_path=build/asan/report UBSAN_OPTIONS=log_path=build/asan/report \
    PYTHONPATH=build/asan:. $(BIN)/python

# Wheels for every platform, compiled by zig.
wheels: $(VENV)/dev.done
	$(INSTALL) --require-hashes --no-deps --requirement requirements/compiler.lock
	$(BIN)/python -m tools.wheels dist

studies: $(VENV)/dev.done
	$(BIN)/python -m studies

# Every command of docs/studies/papers.md, those that train too (minutes).
papers: $(VENV)/dev.done
	SUREFOOT_LONG=1 $(BIN)/python -m pytest -n auto --quiet tests/test_papers.py

# The protocols of the papers on MSLR-WEB10K, in a folder of Fold1 to Fold5; run it again after a stop, and it goes on.
PLANS ?= sigir2014 sigir2016 sigir2012
OUT ?= build/mslr
mslr: $(VENV)/run.done
	@test -d "$(FOLDER)" || { echo "name the folder of Fold1 to Fold5: make mslr FOLDER=..."; exit 2; }
	mkdir -p $(OUT)
	set -e; for plan in $(PLANS); do \
	    $(BIN)/surefoot experiment $$plan --data $(FOLDER) --baseline feature:110 $(CHANGED) -o $(OUT)/$$plan-mslr; done
	$(BIN)/python docs/make_claims.py $(PLANS:%=$(OUT)/%-mslr) $(OUT)/claims.md
	@echo "the tables beside the papers': surefoot reproduce --experiment $(OUT)/sigir2014-mslr (and the other folders)"
	@echo "the claims: $(OUT)/claims.md"

lock:
	requirements/lock.sh

clean:
	rm -rf $(VENV) build demo site

# The demo needs only what users install; the tests add their tools to the same environment. The locks are complete, so
# that nothing else is resolved; requirements/overrides.txt says what they leave out. Without a C compiler, zig is installed.
$(VENV)/%.done: requirements/%.lock pyproject.toml lab/pyproject.toml | $(BIN)/python
	$(INSTALL) --require-hashes --no-deps --requirement requirements/$*.lock
	@command -v $${CC:-cc} > /dev/null || $(INSTALL) --require-hashes --no-deps --requirement requirements/compiler.lock
	$(INSTALL) --no-deps --no-build-isolation --editable . --editable lab
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Surefoot needs Python 3.11 or later; name one with: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv $(VENV)
