# The commands a newcomer needs. `make help` lists them.

.PHONY: help demo test bench lint clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: ## Mirror a real feed into SQLite and show what changed
	@scripts/bootstrap
	@scripts/demo

test: ## Build, lint and run everything that must pass
	@scripts/bootstrap
	@scripts/test

bench: ## Measure beside floors and peers: make bench ARGS="--filter set --json"
	@scripts/bootstrap bench
	@scripts/bench $(ARGS)

lint: ## Check format, documentation comments and quoted snippets
	@scripts/lint

clean: ## Remove everything that was built
	rm -rf .build .build-* Benchmarks/.build
