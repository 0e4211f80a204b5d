# Two commands do all set-up: `make demo` and `make test`. They need Python 3.11 or newer and nothing else;
# the tests on HBase need Docker too (or WEBTABLE_HBASE_URL), and say why they skip where there is none.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
STAMP := $(VENV)/.installed

.PHONY: demo test test-embedded nightly faults test-cluster test-kerberos test-engines test-spark test-versions protocol check notebooks site bench scale wheel release-check clean

# With the library alone, as its users install it; `make test` adds what the tests need.
demo: $(CORE)
	$(BIN)/python examples/demo.py

# In two processes, which share one HBase: most tests wait for it. WORKERS=0 runs them in one, for a debugger.
# Thousands of tables are made in one session and dropped with the container. Each takes 0.6 MB of HBase's heap,
# nearly half of it for its metrics: 3 GB ran out.
WORKERS ?= 3
test: export HBASE_HEAP ?= 6g
test: export THRIFT_HEAP ?= 512m
# Half of the time of a Java that lives for minutes goes into its second compiler, which pays in hours.
test: export HBASE_JAVA_OPTIONS ?= -XX:TieredStopAtLevel=1
# Hundreds of tests start Python: where no bytecode is kept, each of them compiles the library again.
test: export PYTHONDONTWRITEBYTECODE =
test: $(STAMP)
	$(BIN)/python tests/hbase_image.py
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --durations=25

# Those that need no HBase, also where there is one.
test-embedded: $(STAMP)
	DOCKER_HOST=unix:///nonexistent.sock WEBTABLE_HBASE_URL= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not hbase'

# All of what `make test` tries a part of: every call that a writer can be killed at, every order of captures, large pages and
# files, and as many examples of each property as it takes. An hour or two with HBase.
nightly: export WEBTABLE_NIGHTLY = 1
nightly: test

# The fault tests of `make test`, for longer: 100,000 simulated faults, some 10,000 on connections, 100 kills
# on each store, and an HBase of their own that is killed and paused; and a million inputs for each fuzz target.
faults: export WEBTABLE_FAULT_SECONDS ?= 75
faults: export WEBTABLE_FAULT_KILLS ?= 100
faults: export WEBTABLE_FAULTS_SIMULATED ?= 100000
faults: export WEBTABLE_FAULT_RING ?= 200000
faults: export WEBTABLE_FAULT_FLIPPED ?= 150
faults: export WEBTABLE_FAULT_LONG = 1
faults: export WEBTABLE_NIGHTLY = 1
faults: export WEBTABLE_FUZZ_INPUTS ?= 1000000
faults: export WEBTABLE_FUZZ_PROCESSES ?= 2
faults: $(STAMP)
	$(BIN)/python -m pytest -m faults -s --timeout 3600

# A cluster of containers (docker-compose.yml, 4 GB of memory) that loses region servers, its master and a gateway. It
# needs `docker compose` or `docker-compose`; the cluster is taken down at the end, also after Ctrl-C.
test-cluster: export WEBTABLE_FAULT_CLUSTER = 1
test-cluster: $(STAMP)
	$(BIN)/python -m pytest tests/faults/test_cluster.py tests/faults/test_native_cluster.py -s --timeout 3600

# The contract of the store port by HBase's own protocol on HBase 2.4, 2.5 and 3.0, each in a container. Ten minutes.
test-versions: $(STAMP)
	$(BIN)/python tests/hbase_versions.py

# HBase with Kerberos and a KDC, once for each protection of HBase's own protocol, and HBase with TLS: each in a container that is taken down at the end. gssapi is compiled: it needs a C compiler and Debian's libkrb5-dev.
test-kerberos: export WEBTABLE_KERBEROS = 1
test-kerberos: $(STAMP)
	command -v krb5-config >/dev/null || { apt-get update -q && apt-get install -q -y --no-install-recommends libkrb5-dev; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt gssapi
	$(BIN)/python -m pytest tests/kerberos --timeout 900

# Clusters of Dask and Ray with two workers each, which read both stores. Ray takes 240 MB. It needs an HBase, as `make test` does.
test-engines: export WEBTABLE_ENGINES = 1
test-engines: export WEBTABLE_REQUIRE_HBASE ?= 1
test-engines: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dask,ray]' distributed
	$(BIN)/python -m pytest tests/clusters tests/test_dependencies.py

# Spark on two cores of this machine, which reads and writes both stores. It needs Java 17 and an HBase; PySpark takes 490 MB.
test-spark: export WEBTABLE_SPARK = 1
test-spark: export WEBTABLE_REQUIRE_HBASE ?= 1
test-spark: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[spark]'
	$(BIN)/python -m pytest tests/spark tests/test_dependencies.py

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@mkdir -p build
	PATH="$(abspath $(BIN)):$$PATH" pyright --verifytypes webtable --ignoreexternal > build/types.txt || { cat build/types.txt; exit 1; }

# The Python of HBase's messages, by a protoc whose code every protobuf from 4.25 on runs.
PROTOCOL := src/webtable/store/hbase/native
protocol:
	$(PYTHON) -m venv build/protoc
	build/protoc/bin/pip install --quiet grpcio-tools==1.62.3 'setuptools<80'
	build/protoc/bin/python -m grpc_tools.protoc -I $(PROTOCOL) --python_out=$(PROTOCOL) --pyi_out=$(PROTOCOL) hbase.proto
	@# That protoc leaves out what its mappings and keywords hold, which type checkers want to know.
	sed -i -E '/^from/! s/_Mapping\b/_Mapping[str, object]/g; s/\*\*kwargs\)/**kwargs: int)/' $(PROTOCOL)/hbase_pb2.pyi

# The notebooks of examples/, each run in a clean kernel, as pages with what they show: build/notebooks.
notebooks: $(STAMP)
	$(BIN)/python docs/make_notebooks.py

# The site of the docs as files: build/site/index.html. Searching needs a server: python -m http.server -d build/site
site: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# The table of docs/benchmarks.md, in some twenty minutes; `python -m benchmarks` has all benchmarks.
bench: $(STAMP)
	$(BIN)/python -m benchmarks.main_table

# One table from 10,000 pages to as many as PAGES says, and what each question takes at every size; STORE may be
# hbase://… too. It goes on where it was ended.
PAGES ?= 10000000
STORE ?= build/scale.db
scale: $(STAMP)
	mkdir -p build
	$(BIN)/python -m benchmarks.scale '$(STORE)' --pages $(PAGES) --results build/scale.jsonl

# The wheel, built twice from copies that differ in what must not matter: dates, permissions, the folder. They must be the
# same byte for byte; it is in dist/.
wheel: $(CORE)
	rm -rf build/wheel && mkdir -p build/wheel dist
	git archive HEAD --prefix=first/ | tar -xm -C build/wheel
	git archive HEAD --prefix=a/second/ | (umask 077 && tar -x --no-same-permissions -C build/wheel)
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w build/wheel/1 build/wheel/first
	umask 077 && $(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w build/wheel/2 build/wheel/a/second
	cmp build/wheel/1/*.whl build/wheel/2/*.whl
	cp build/wheel/1/*.whl dist/

# What a release is made of, in build/release/dist: built of the commit that is checked out, and tried in fresh environments
# of each Python from 3.11 to 3.14 that is found, or of those that PYTHONS names (PYTHONS='3.12 3.13').
release-check: $(STAMP)
	$(BIN)/python .ci/release_check.py $(PYTHONS)

$(CORE): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(STAMP): $(CORE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,bench]'
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
