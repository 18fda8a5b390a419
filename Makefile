# `make` lists the targets. PORT chooses where `make run` listens.
PORT ?= 6390
MODULE := $(CURDIR)/target/release/libseckill.so

.DEFAULT_GOAL := help
# What `make bench` is told: BENCH="--quick", BENCH="--only wins", BENCH="--help".
BENCH ?=
# The same for `make sim` and `make fuzz`.
SIM ?=
FUZZ ?=
NOOP := $(CURDIR)/target/noop

.PHONY: help deps orders-deps build run demo demo-pay order-demo clients durability test soak lint fmt \
	docs build-noop bench bench-core bench-instructions sim fuzz memcheck

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 22

deps: ## Install what is missing beside a Rust toolchain (does nothing when all is there)
	@.ci/deps

build: deps ## Build the module: target/release/libseckill.so
	cargo build --release

run: build ## Start a server with the module in the foreground
	@mkdir -p target/run
	@echo "Talk to it:  redis-cli -p $(PORT) SECKILL.INIT sale 100"
	@echo "             redis-cli -p $(PORT) SECKILL.GRAB sale alice"
	@exec redis-server --bind 127.0.0.1 --port $(PORT) --dir $(CURDIR)/target/run \
		--appendonly yes --maxmemory-policy noeviction --loglevel warning --loadmodule $(MODULE)

demo: build ## Sell 100 units to 500 concurrent clients and check the result
	cargo run --release --example rush

demo-pay: build ## The same with holds: some pay, some don't, and everything is sold in the end
	cargo run --release --example rush -- --pay

orders-deps: deps ## Install MariaDB for order-demo, the server alone without its service
	@.ci/deps orders

order-demo: build orders-deps ## Write orders to MariaDB, lose some in Redis, repair, and compare
	cargo build --release --example order_writer --example order_demo
	target/release/examples/order_demo

clients: build ## Buy with real client libraries of PHP, Python, Node, Java (those that are there)
	cargo run --release --example clients

durability: build ## Measure what is lost when a server dies, setting by setting
	cargo run --release --example durability

build-noop: deps
	cargo build --release --features noop --target-dir $(NOOP)

bench: build build-noop ## Measure next to sets, scripts and functions (about 5 minutes)
	cargo bench --bench peers -- --module $(MODULE) --noop-module $(NOOP)/release/libseckill.so \
		--json $(CURDIR)/docs/bench.json --chart $(CURDIR)/docs/bench.svg $(BENCH)

bench-core: deps ## Measure the domain alone, without a server
	cargo bench --bench core

bench-instructions: build-noop ## Count the server's instructions for one call (valgrind)
	SECKILL_NOOP_MODULE=$(NOOP)/release/libseckill.so cargo bench --bench instructions

test: deps ## Run all tests
	cargo test

sim: deps ## Simulate sales, nodes and faults in memory against an oracle (SIM="--seconds 60")
	cargo run --release --example sim -- $(SIM)

fuzz: deps ## Alter everything that is read from outside, without nightly (FUZZ=10: ten times as long)
	SECKILL_FUZZ=$(or $(FUZZ),1) cargo test --test fuzz long -- --ignored --nocapture --test-threads=1

memcheck: deps ## Run every command and much else under valgrind: no error, no leak
	cargo test --test fuzz memcheck -- --ignored --nocapture

soak: deps ## Run the slow tests, ten minutes or SECKILL_SOAK_SECONDS of them
	cargo test --release --test domain soak -- --ignored
	cargo test --release --test server soak -- --ignored --nocapture

lint: deps ## Check formatting and warnings
	cargo fmt --check
	cargo clippy --all-targets -- -D warnings

fmt: ## Format the sources
	cargo fmt

docs: ## Write docs/commands.md from the command table, and draw docs/holds.svg if graphviz is there
	cargo run --quiet --example commands_md > target/commands.md
	mv target/commands.md docs/commands.md
	@if command -v dot >/dev/null; then dot -Tsvg docs/holds.dot -o docs/holds.svg; \
		else echo "docs/holds.svg is left as it is: drawing it takes graphviz (dot)"; fi
