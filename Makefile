# Everything runs inside .venv, which the first command makes from constraints.txt.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# One BLAS thread a process: the tests run one process a core.
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
NAME ?=

.PHONY: demo test lint bench evidence upgrade clean

demo: .venv/ready
	$(BIN)/confide demo

test: .venv/ready lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	$(BIN)/python -m bench $(NAME)

evidence: .venv/ready
	$(BIN)/python -m evidence $(NAME)

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group dev -e '.[all]'
	touch $@

# Takes the newest release of every dependency and writes down what it got.
upgrade:
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev -e '.[all]'
	$(BIN)/python -m pip list --format=freeze --exclude-editable | grep -v '^setuptools==' > constraints.txt
	touch .venv/ready

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .import_linter_cache
