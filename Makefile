# make demo: build and run the main job on data/     make test: the tests     make bench: measure against the peers, BENCH='--only bars' a part of it
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
SOURCES := setup.py pyproject.toml $(shell find crftrain -name '*.py[x]' -o -name '*.px[di]' -o -path '*/simd/*.[ch]')

.PHONY: build demo fast test sanitize lint man fuzz bench bench-quick wheel release clean

build: $(VENV)/built
$(VENV)/built: $(SOURCES) $(VENV)/installed
	@echo "compiling the kernels: about a minute on two cores, later only what changed"
	$(BIN)/python setup.py --quiet build_ext --inplace
	touch $@

# The environment. What is compiled lies in the tree, so that the installation need not compile it once more.
$(VENV)/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "setuptools>=77" "Cython>=3.2" "numpy>=2.0"
	CRFTRAIN_INPLACE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[test,lint]"
	touch $@

# The circle one uses while working.
FAST := kernels layout read template encode model container tag plain decoding evaluate train library auto rooms docs
fast: build
	$(BIN)/python -m pytest $(patsubst %,tests/test_%.py,$(FAST))

test: build
	$(BIN)/python -m pytest

# AddressSanitizer and UndefinedBehaviorSanitizer over all compiled code, in a copy of the tree: 10 minutes on two cores, by hand
SANITIZED := build/sanitize
sanitize: build
	mkdir -p $(SANITIZED) && cp -Rp setup.py pyproject.toml README.md LICENSE crftrain tests data $(SANITIZED)
	find $(SANITIZED)/crftrain -name '*.so' -delete
	cd $(SANITIZED) && CRFTRAIN_SANITIZE=1 $(CURDIR)/$(BIN)/python setup.py --quiet build_ext --inplace
	sh tests/sanitized.sh $(CURDIR)/$(BIN)/python $(SANITIZED)

lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check --quiet .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cython-lint crftrain
	$(BIN)/mypy

demo: build
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh data/demo.sh

# Manual pages in docs/man/, to be read by man -l docs/man/crftrain-learn.1, and scripts of shells in docs/completion/
man: build
	$(BIN)/python docs/generate.py docs/man docs/completion

# Spoilt models, texts, options, checkpoints, for MINUTES all together: make fuzz MINUTES=60 FUZZ=checkpoints
fuzz: build
	$(BIN)/python tests/attacks/fuzz.py $(FUZZ) --minutes $(or $(MINUTES),5)

bench: build
	CRFTRAIN_INPLACE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[bench]"
	$(BIN)/python bench/bench.py $(BENCH)

bench-quick: build
	$(BIN)/python bench/bench.py --quick

# A wheel and an sdist in dist/, looked at by the tools that an index would use, installed into an empty environment, and used there.
wheel: build man
	CRFTRAIN_INPLACE=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[release]"
	sh tests/packaging/wheel.sh $(BIN)

# All that must hold before a version is published; publishing itself is left to whoever may.
release: lint test wheel
	$(BIN)/python tests/packaging/release.py dist

clean:
	rm -rf dist build docs/man docs/completion $(VENV) *.egg-info
	find crftrain -name '*.so' -delete -o -name '_*.c' ! -path '*/simd/*' -delete
