# The commands a newcomer needs. `make help` lists them.

.PHONY: help tool install uninstall dist demo demo-mirror test test-all check test-servers docs bench fuzz fuzz-server simulate mutants soak soak-rules soak-postgresql sanitize lint clean

PREFIX ?= /usr/local
export PREFIX DESTDIR

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

tool: ## Build the tool: 6 minutes on two cores the first time
	@scripts/tool

install: ## Install the tool for this machine, seconds after 'make tool': make install PREFIX=/usr/local
	@scripts/install

uninstall: ## Remove what install has installed, with the same PREFIX
	@scripts/install --uninstall

dist: ## Make a Debian package and a tar file that run without Swift, from a build of their own
	@scripts/dist

demo: ## Show two phones in step on a page, seconds after 'make tool': make demo ARGS=--postgresql or ARGS="--port 8000 --data demo"
	@scripts/bootstrap
	@scripts/demo $(ARGS)

demo-mirror: ## Mirror a real feed into SQLite and show what changed
	@scripts/bootstrap
	@scripts/demo-mirror

test: ## Build, lint and run everything that must pass: 25 minutes on two cores, 11 if it is built
	@scripts/bootstrap test
	@scripts/test

test-all: ## The same, and the packages, the tutorial, more random seeds, and the tests in a debug build
	@scripts/bootstrap test
	@scripts/test --all

check: ## Run the tests of a target alone, about a minute after a change: make check TARGET=TandemMirror FILTER=PageSigns
	@FILTER='$(FILTER)' scripts/check $(TARGET)

test-servers: ## Mirror lists from datasette, Kinto, Django, FastAPI, nginx and Apache: make test-servers ARGS=nginx
	@scripts/bootstrap servers
	@scripts/tool >/dev/null
	@scripts/test-servers $(ARGS)

docs: ## Build the documentation of all libraries as one site; fails on any warning: half a minute if built
	@scripts/bootstrap
	@scripts/docs

bench: ## Measure beside baselines and peers: make bench ARGS="--filter set --json"
	@scripts/bootstrap bench
	@scripts/bench $(ARGS)

fuzz: ## Compare live queries with fresh queries: make fuzz SEED=1 COUNT=2000
	@scripts/bootstrap
	@scripts/fuzz $(SEED) $(COUNT)

fuzz-server: ## Send a server random requests by its own description: make fuzz-server COUNT=200 SEED=1
	@scripts/bootstrap servers
	@scripts/fuzz-server $(or $(COUNT),100) $(SEED)

simulate: ## Simulate synchronization with all accidents: make simulate SEEDS=10000 FROM=1 or ARGS=--exhaustive
	@"$$(scripts/tool TandemSimulator)" $(or $(ARGS),--seeds $(or $(SEEDS),2000) --from $(or $(FROM),1))

mutants: ## Plant bugs in synchronization, and check that each is found
	@scripts/bootstrap
	@scripts/mutants/run

soak: ## Kill real processes behind a faulty network: make soak SECONDS=600 SEED=1
	@scripts/bootstrap test
	@scripts/tool --tests >/dev/null
	@TANDEM_SOAK_SECONDS=$(or $(SECONDS),600) $(if $(SEED),TANDEM_SOAK_SEED=$(SEED)) LC_ALL=C.UTF-8 no_proxy='*' \
	  swift test -c release -Xswiftc -enable-testing --skip-build --no-parallel --filter SyncSoakTests

soak-rules: ## Edit four copies by programs that know nothing of each other, with kills: make soak-rules SECONDS=3600
	@scripts/soak-rules.py "$$(scripts/tool)" $(or $(SECONDS),600) $(SEED)

soak-postgresql: ## Kill servers and PostgreSQL under 200 clients: make soak-postgresql SECONDS=600
	@scripts/bootstrap test
	@scripts/soak-postgresql $(or $(SECONDS),600)

sanitize: ## Run the suites with several threads under the thread sanitizer
	@scripts/bootstrap
	@scripts/sanitize

lint: ## Check format, documentation comments, quoted snippets and ARCHITECTURE.md: 20 seconds
	@scripts/lint

clean: ## Remove all build products
	rm -rf .build .build-* Benchmarks/.build
