# Two commands do all set-up: `make demo` and `make test`. They need Python 3.11 or newer and nothing else;
# the tests on HBase need Docker too (or WEBTABLE_HBASE_URL), and say why they skip where there is none.
PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
CORE := $(VENV)/.core
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS)

.PHONY: setup demo quick test nightly check site bench scale release clean

# A virtual environment in .venv with all that tests and checks need. Every target makes it where it is missing.
setup: $(STAMP)

# With the library alone, as its users install it; `make test` adds what the tests need.
demo: $(CORE)
	$(BIN)/python examples/demo.py

# Hundreds of tests start Python: where no bytecode is kept, each of them compiles the library again.
quick test nightly: export PYTHONDONTWRITEBYTECODE =

# In two minutes: the checks of what is written, and the tests of what has changed since main, without slow ones and HBase.
quick: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/changed_tests.py

# All tests, or those that MARK selects: MARK='not hbase', or a job of its own.
#   cluster   a cluster of containers (docker-compose.yml, 4 GB of memory) that loses region servers, its master and a gateway;
#             needs `docker compose` or `docker-compose`; the cluster is taken down at the end, also after Ctrl-C
#   engines   clusters of Dask and Ray with two workers each, which read both stores; Ray takes 240 MB
#   kerberos  HBase with Kerberos and a KDC, once for each protection of HBase's own protocol, and HBase with TLS, each in a
#             container; gssapi is compiled, which needs a C compiler and Debian's libkrb5-dev
#   spark     Spark on two cores of this machine, which reads and writes both stores; needs Java 17; PySpark takes 490 MB
#   versions  the contract of the store port by HBase's own protocol on HBase 2.4, 2.5 and 3.0; ten minutes
MARK ?=
JOBS := cluster engines kerberos spark versions
JOB := $(filter $(JOBS),$(MARK))
NEEDS_engines := -e '.[dask,ray]' distributed
NEEDS_kerberos := gssapi
NEEDS_spark := -e '.[spark]'
# More processes than cores, which share one HBase: tests wait for it, and for crawls. WORKERS=0 runs them in one, for a
# debugger.
WORKERS ?= 4
PARALLEL := -n $(WORKERS) --dist worksteal
# Thousands of tables are made in one session and dropped with the container. Each takes 0.6 MB of HBase's heap,
# nearly half of it for its metrics: 3 GB ran out.
test nightly: export HBASE_HEAP ?= 6g
test nightly: export THRIFT_HEAP ?= 512m
# Half of the time of a Java that lives for minutes goes into its second compiler, which pays in hours.
test nightly: export HBASE_JAVA_OPTIONS ?= -XX:TieredStopAtLevel=1
ifeq ($(MARK),not hbase)
test: export DOCKER_HOST = unix:///nonexistent.sock
test: export WEBTABLE_HBASE_URL =
endif
ifneq ($(JOB),)
test: export WEBTABLE_REQUIRE_HBASE ?= 1
endif
test: $(STAMP)
ifeq ($(JOB),kerberos)
	command -v krb5-config >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends libkrb5-dev; }
endif
	$(if $(NEEDS_$(JOB)),$(PIP) $(NEEDS_$(JOB)))
	$(BIN)/python tests/hbase_image.py
	$(BIN)/python -m pytest $(if $(MARK),-m '$(MARK)') $(if $(JOB),-s,$(PARALLEL) --durations=25)

# All of what `make test` tries a part of: every call that a writer can be killed at, every order of captures, large pages
# and files, as many examples of each property as it takes. Then the fault tests for longer: 100,000 simulated faults, some
# 10,000 on connections, 100 kills on each store, an HBase that is killed and paused, and a million inputs for each fuzz
# target. Hours, with Docker; MARK='not faults' and MARK=faults are the halves.
nightly: export WEBTABLE_NIGHTLY = 1
nightly: $(STAMP)
	$(BIN)/python tests/hbase_image.py
ifneq ($(MARK),faults)
	$(BIN)/python -m pytest $(PARALLEL) -m '$(or $(MARK),not faults)'
endif
ifeq ($(MARK),$(filter faults,$(MARK)))
	$(BIN)/python -m pytest -s --timeout 3600 -m faults
endif

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/count_words.py
	$(BIN)/python docs/check_prose.py
	@mkdir -p build
	PATH="$(abspath $(BIN)):$$PATH" pyright --verifytypes webtable --ignoreexternal > build/types.txt || { cat build/types.txt; exit 1; }

# The site of the docs as files: build/site/index.html. Searching needs a server: python -m http.server -d build/site
site: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The table of docs/benchmarks.md, in some twenty minutes; `python -m benchmarks` has all benchmarks.
bench: $(STAMP)
	$(BIN)/python -m benchmarks.main_table

# The growth of docs/scale.md: PAGES made-up pages into STORE, a file or a URL, by WRITERS processes. Ended early, it goes
# on where it was.
PAGES ?= 10000000
STORE ?= scale.db
RESULTS ?= scale.jsonl
WRITERS ?= 1
scale: $(STAMP)
	$(BIN)/python -m benchmarks.scale '$(STORE)' --pages $(PAGES) --results '$(RESULTS)' --writers $(WRITERS)

# What a release is made of, in build/release/dist: built of the commit that is checked out, the wheel twice, and tried in
# fresh environments of each Python from 3.11 to 3.14 that is found, or of those that PYTHONS names (PYTHONS='3.12 3.13').
release: $(STAMP)
	$(BIN)/python .ci/release_check.py $(PYTHONS)

$(CORE): pyproject.toml $(CONSTRAINTS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e '.[scrapy]'
	touch $@

$(STAMP): $(CORE)
	$(PIP) -e '.[dev,bench]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
