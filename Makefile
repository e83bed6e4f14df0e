# Everything runs inside .venv, which the first command makes from constraints.txt.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
# Spark is half a gigabyte and needs Java, so it has an environment of its own.
SPARK := .venv-spark/bin
DOCS := .venv-docs/bin
LOWEST := .venv-lowest/bin
NEWEST := .venv-newest/bin
# The newest Python that runs here; NEWEST_PYTHON=/path/to/python names another.
NEWEST_PYTHON ?= $(shell for v in 3.15 3.14 3.13 3.12 3.11; do \
	python$$v -c '' 2>/dev/null && command -v python$$v && break; done)
# One BLAS thread a process: the tests run one process a core.
export OPENBLAS_NUM_THREADS = 1
export OMP_NUM_THREADS = 1
# Compiled files are kept even where the shell says not to: many tests start a process.
unexport PYTHONDONTWRITEBYTECODE
NAME ?=

.PHONY: demo test test-spark test-browser test-lowest test-newest lint web web-check bench evidence fuzz docs pages messages release upgrade clean screenshots

demo: .venv/ready
	$(BIN)/confide demo

test: .venv/ready lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-spark: .venv-spark/ready
	$(SPARK)/python -m pytest tests/spark

# The device in JavaScript in Chromium, after its types and its tests in Node.
test-browser: .venv/browser web-check
	@for name in $${CHROMIUM:-chromium chromium-browser google-chrome}; do command -v $$name > /dev/null && exit; done; \
		test "$$(id -u)" != 0 || { apt-get update -qq && apt-get install -y -qq chromium > /dev/null; }
	$(BIN)/python -m pytest tests/browser

# Writes the hashes of the page's files into its index.html, after any of them has changed.
web: .venv/ready
	$(BIN)/python -m web.integrity

# Pictures of the pages, taken of the demo as it runs.
screenshots: .venv/browser
	$(BIN)/python docs/screenshots.py

web-check: web/node_modules/ready
	cd web && npm run --silent check

# The oldest release of everything that pyproject.toml allows, and the newest Python.
test-lowest: .venv-lowest/ready
	$(LOWEST)/python -m pytest -n 2 --dist worksteal

test-newest: .venv-newest/ready
	$(NEWEST)/python -m pytest -n 2 --dist worksteal

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/ready
	$(BIN)/python -m bench $(NAME)

evidence: .venv/ready
	$(BIN)/python -m evidence $(NAME)

# Damaged files for every reader; a thinned run is among the tests.
fuzz: .venv/ready
	$(BIN)/python -m tests.fuzz.study

# Runs the tutorials and writes what they print and draw into their pages.
pages: .venv/ready
	$(BIN)/python -m docs.run

# Every message that a user can meet, in one table.
messages: .venv/ready
	$(BIN)/python -m tools.messages

docs: .venv-docs/ready
	NO_MKDOCS_2_WARNING=1 $(DOCS)/mkdocs build --strict

# The checklist of a release: builds, looks inside, and tries the wheel in an empty environment.
release: .venv/ready
	$(BIN)/python -m tools.release

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group dev -e '.[all]'
	touch $@

.venv/browser: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group browser
	touch $@

web/node_modules/ready: web/package.json web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

.venv-spark/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-spark
	$(SPARK)/python -m pip install --quiet --disable-pip-version-check --upgrade pip -c constraints.txt
	$(SPARK)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt pytest -e '.[spark]'
	touch $@

.venv-lowest/ready: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	$(LOWEST)/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/uv pip install --quiet --python $(LOWEST)/python --resolution lowest-direct --group frames -e '.[all]'
	$(LOWEST)/uv pip install --quiet --python $(LOWEST)/python --group test
	$(LOWEST)/uv pip list --python $(LOWEST)/python
	touch $@

.venv-newest/ready: pyproject.toml constraints.txt
	$(NEWEST_PYTHON) -m venv .venv-newest
	$(NEWEST)/python -m pip install --quiet --disable-pip-version-check --upgrade pip -c constraints.txt
	$(NEWEST)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group dev -e '.[all]'
	touch $@

.venv-docs/ready: docs/requirements.txt
	$(PYTHON) -m venv .venv-docs
	$(DOCS)/python -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	touch $@

# Takes the newest release of every dependency and writes down what it got.
upgrade:
	rm -rf .venv .venv-spark
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --group dev --group browser -e '.[all]'
	$(BIN)/python -m pip list --format=freeze --exclude-editable | grep -v '^setuptools==' > constraints.txt
	touch .venv/ready
	$(MAKE) .venv-spark/ready
	$(SPARK)/python -m pip list --format=freeze --exclude-editable | grep -v '^setuptools==' | LC_ALL=C sort -uf - constraints.txt -o constraints.txt

clean:
	rm -rf .venv .venv-spark .venv-docs .venv-lowest .venv-newest web/node_modules site build dist .mypy_cache .ruff_cache .import_linter_cache
