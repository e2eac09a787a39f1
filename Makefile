# Everyday commands. `make help` lists them. They take the tools from PATH: activate the environment
# first, after `pip install -e '.[dev]'`.
.PHONY: help check test exhaustive durations quick thorough lint format layers typecheck docs torture ci
help:            ## List the targets.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST)
check: lint layers typecheck test exhaustive   ## Everything that a change must pass, in this environment.
test:            ## The everyday tests: each test of each part, with every value of its parameters.
	pytest -n logical
exhaustive:      ## The others: more combinations of the same, and what takes long, as kills and browsers do.
	pytest -n logical -m exhaustive
quick:           ## What to run at every save: each part alone, and the contract of the host engine.
	pytest -n $$(nproc) -q tests/unit tests/engine/contract -k "not emulated and not real"
EXAMPLES ?= 20
thorough:        ## All tests but those of runs, with twenty times, or EXAMPLES, as many random calls and batches.
	GRAPHTIDE_EXAMPLES=$(EXAMPLES) pytest -n logical -m "" --timeout=3600 tests/engine tests/kernels tests/unit
DURATIONS_SCALE ?= 1
durations:       ## Measure all tests anew, on an idle machine: tests/durations.txt, which says what is `exhaustive`.
	pytest -n 2 -m "" --durations=0 --durations-min=0.05 > .durations.log
	python tests/helpers/everyday.py $(DURATIONS_SCALE) < .durations.log > tests/durations.txt && rm .durations.log
lint:            ## Style and formatting.
	ruff check . && ruff format --check .
format:          ## Put the style right where that needs no thought.
	ruff check --fix . ; ruff format .
layers:          ## flows > pipeline > io | config > gpu_core; no circle of imports.
	lint-imports
	python -I tests/helpers/import_circles.py
typecheck: .typing/graphtide        ## mypy, started outside the root so that `import io` is the standard library.
	cd .typing && mypy --config-file ../pyproject.toml -p graphtide
docs: .typing/graphtide      ## The documentation as a site, in site/; needs pip install -e '.[docs]'.
	NO_MKDOCS_2_WARNING=1 mkdocs build --strict
TORTURE_SECONDS ?= 7200
TORTURE_REPORT ?= torture.json
TORTURE ?=
torture:         ## Kills, crashes, damage, odd input for two hours, or TORTURE_SECONDS; adds to TORTURE_REPORT; TORTURE: more words.
	cd tests && python -m torture $(TORTURE) --seconds $(TORTURE_SECONDS) --report $(abspath $(TORTURE_REPORT))
ci:              ## The same from nothing: fresh environments, the README's lines, the wheel.
	.ci/run
.typing/graphtide:
	mkdir -p .typing && ln -s .. $@
