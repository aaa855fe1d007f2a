# The task runner. Every target runs what scripts/test installed into .venv.
.DEFAULT_GOAL := help
bin := .venv/bin

.PHONY: help setup format lint types imports tidy unit core sim compiled clients java node go browser image kafka spark test bench fuzz lock clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 10

setup: $(bin)/python ## what the targets below need
$(bin)/python:
	scripts/test lint

format: ## rewrite to the house format
	$(bin)/ruff check --fix . && $(bin)/ruff format .

lint: ## ruff: rules and format; oxlint: JavaScript
	$(bin)/ruff check . && $(bin)/ruff format --check . && $(bin)/oxlint --deny-warnings

types: ## mypy --strict
	$(bin)/mypy

imports: ## the import contract
	$(bin)/lint-imports --no-logo

tidy: ## the house rules that no linter knows
	$(bin)/pytest -q tests/tidy_test.py

unit: ## all tests that need nothing but Python
	$(bin)/pytest -q --hypothesis-profile=quick $(addprefix --without-tier=,clients java node go browser image kafka spark)

core_rooms := apis cluster config coop coordinator faults fetch journal log metadata node purgatory \
	quorum re2 replica security telemetry
# They log nothing, print nothing and await nothing: what pytest does for those who do is left out.
core: ## the tests of cluster and the rooms below it, and the CPU time that they take
	$(bin)/pytest -q --hypothesis-profile=quick --cpu-report \
		--capture=no -p no:logging -p no:anyio -p no:schemathesis \
		$(addprefix tests/mockbroker/,$(core_rooms)) tests/mockbroker/test_clock.py

sim: ## the tests on virtual time
	$(bin)/pytest -q -m sim

clients: ## unmodified clients against a server process
	scripts/test clients

compiled: ## the unit and client tests on the compiled build
	scripts/test $@

image: ## the container image, built and run
	scripts/test $@

java node go browser: ## unmodified clients of that language
	scripts/test $@

kafka: ## the differential tests, beside an Apache Kafka
	scripts/test kafka

spark: ## the pipeline, on a local Spark
	scripts/test spark

test: ## everything, as continuous integration does
	scripts/test

bench: ## every benchmark, beside the peers
	for bench in start codec throughput sessions purgatory wire pipeline; do scripts/bench/$$bench || exit; done

fuzz: ## hostile bytes for a bounded time
	scripts/fuzz

# Universal: one lock for all supported Pythons and systems. The versions of a lock that is
# there are kept; UPGRADE=--upgrade moves them.
compile := $(bin)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate $(UPGRADE)
lock: ## write requirements/*.txt anew
	$(compile) pyproject.toml -o requirements/runtime.txt
	$(compile) pyproject.toml --extra dev -c requirements/runtime.txt -o requirements/dev.txt
	$(compile) pyproject.toml --extra admin --extra schemas --extra tls --extra top -c requirements/dev.txt -o requirements/image.txt
	$(compile) requirements/build.in -c requirements/dev.txt -o requirements/build.txt
	$(compile) pyproject.toml --extra spark -c requirements/dev.txt -o requirements/spark.txt
	for name in browser kafka-python-2.0.2 nodejs golang image-lint release wheels; do $(compile) requirements/$$name.in -o requirements/$$name.txt || exit; done

clean: ## remove what was made here, apart from .venv and .tools
	rm -rf build dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
