# `make` lists the targets. PORT chooses where `make run` listens.
PORT ?= 6390
MODULE := $(CURDIR)/target/release/libseckill.so
# Recipes run what they have built from target/. A user's settings of cargo must not put it elsewhere, where an older
# file in target/ would be run instead. Scripts of .ci that build elsewhere set this themselves.
export CARGO_TARGET_DIR := $(CURDIR)/target
unexport CARGO_BUILD_TARGET
# Targets install packages and write the same files, so `make -j` runs one at a time, too.
.NOTPARALLEL:

.DEFAULT_GOAL := help
# Options of `make bench`: BENCH="--quick", BENCH="--only recommended", BENCH="--help". A full run
# writes its figures into docs/ and README.md.
BENCH ?=
# Options of `make sim`, `make fuzz` and `make torture`.
SIM ?=
FUZZ ?=
TORTURE ?=
MUTANTS ?=
# Options of `make lab`: LAB=--quick, LAB="--only R10,S01"; a run without options writes docs/lab.md.
LAB ?=
# Servers for `make watch-cost`.
WATCH_COST ?= redis-7.0.15 redis-8.10.2 valkey-9.1.2
# Options of `make shop-test`.
SHOP ?=

.PHONY: help deps orders-deps build run demo demo-pay demo-redpacket demo-waitlist demo-budget demo-parts order-demo \
	orders-test watch-test watch-cost \
	clients clients-deps clients-publish durability \
	test test-domain test-server test-release coverage mutants matrix suites cluster-test torture broken sim sim-upgrade sim-parts proof-parts \
	fuzz memcheck sanitize soak lint deny fmt docs \
	bench bench-instructions lab lab-test lab-soak lab-php lab-php-deps lab-tigerfans migrate-deps migrate-test shop shop-deps \
	shop-test dist image dist-test dist-again upgrade-test site site-test site-deps

# The word after ## is the group of a target. MORE=1 also lists the group `more`.
GROUPS := use test measure release docs $(if $(MORE),more)
help: ## use: List the targets (MORE=1: all of them)
	@for group in $(GROUPS); do echo "$$group:"; \
		sed -n "s/^\([a-z-]*\):.*## $$group: /  \1\t/p" $(MAKEFILE_LIST) | expand -t 22; done

deps: ## use: Install what is missing beside a Rust toolchain (does nothing when all is there)
	@.ci/deps

# Cargo builds shared dependencies with the features that all packages of a call need. So each call that builds the
# module also names a program, to build the module always with equal features. Tests are chosen from the whole
# workspace for this reason, too.
BUILD := cargo build --release --lib -p seckill

build: deps ## use: Build the module: target/release/libseckill.so
	$(BUILD) -p rush

run: build ## use: Start a server with the module in the foreground
	@mkdir -p target/run/$(PORT)
	@echo "Talk to it:  redis-cli -p $(PORT) SECKILL.INIT sale 100"
	@echo "             redis-cli -p $(PORT) SECKILL.GRAB sale alice"
	@exec redis-server --bind 127.0.0.1 --port $(PORT) --dir "$(CURDIR)/target/run/$(PORT)" \
		--appendonly yes --maxmemory-policy noeviction --loglevel warning --loadmodule "$(MODULE)"

demo: deps ## use: Sell 100 units to 500 concurrent clients and check the result (also demo-pay ...)
	$(BUILD) -p rush --bin rush
	target/release/rush

demo-pay: deps ## more: Sell with holds: some pay, some don't, and everything is sold in the end
	$(BUILD) -p rush --bin rush
	target/release/rush --pay

demo-redpacket: deps ## more: Pay out three rounds of red packets and draw what was paid
	$(BUILD) -p red_packet --bin red_packet
	target/release/red_packet
	target/release/red_packet --packets

demo-waitlist: deps ## more: Sell to 10,000 people of whom a third don't pay, with and without a waiting list
	$(BUILD) -p waiting_list --bin waiting_list
	target/release/waiting_list

demo-budget: deps ## more: Let 500 workers share one budget, kill some all the time, and check every unit
	$(BUILD) -p budget --bin budget
	target/release/budget

demo-parts: deps ## more: Sell on a cluster of three, and draw how units move to where they are asked for
	$(BUILD) -p split_sale --bin split_sale -p seckill-cli --bin seckill
	target/release/split_sale

orders-deps: deps
	@.ci/deps orders

order-demo: build orders-deps ## more: Write orders to MariaDB, lose some in Redis, repair, and compare
	cargo build --release -p seckill-cli -p seckill-order-demo
	target/release/order_demo

orders-test: deps orders-deps ## test: Kill seckill orders at every point, on MariaDB, MySQL 9.7 and PostgreSQL
	@.ci/deps postgres
	@.ci/servers mysql-9.7.4
	@.ci/deps brokers
	@python3 -m pip install --quiet --target "$(CURDIR)/target/python" confluent-kafka rocketmq-python-client
	PYTHONPATH="$(CURDIR)/target/python" cargo test --workspace --test cli -- --ignored --nocapture --test-threads=1 orders::

# The page needs a browser, the alerts need Prometheus; WATCH=docs makes the picture of docs/watch.md again.
watch-test: build ## test: Fire the alerts in Prometheus, look at the exporter's page, measure what it costs
	@.ci/deps browser
	SECKILL_MODULE="$(MODULE)" SECKILL_PROMETHEUS="$$(.ci/prometheus)" SECKILL_PICTURE="$(if $(WATCH),$(CURDIR)/docs/watch.png)" \
		cargo test --workspace --test cli -- --ignored --nocapture --test-threads=1 watch::

watch-cost: build ## more: Measure what the exporter costs Redis 7.0 and 8.10 and Valkey 9.1 (4 minutes)
	@.ci/servers $(WATCH_COST)
	@for server in $(WATCH_COST); do \
		SECKILL_MODULE="$(MODULE)" SECKILL_TEST_SERVER="$$(.ci/servers --where)/$$server/server" \
			cargo test --workspace --test cli -- --ignored --nocapture watch::cost || exit; \
	done

# Installs the Redis libraries for `make clients`, and linters. Without a Maven registry, JAVA_JARS=FOLDER names a
# folder with the jars of Jedis, Lettuce and their dependencies; without these jars the two are not run.
CLIENT_LIBRARIES := $(CURDIR)/target/clients
clients-deps:
	@.ci/deps clients
	@npm install --loglevel=error --no-fund --prefix "$(CLIENT_LIBRARIES)" redis@6 ioredis@6 typescript@5 eslint@9 @eslint/js@9 globals @types/node@20
	@python3 -m pip install --quiet --upgrade --target "$(CLIENT_LIBRARIES)/python" 'redis>=8,<9' ruff mypy jsonschema
	@.ci/java-jars "$(CLIENT_LIBRARIES)/jars" $(CLIENTS)
	@.ci/go-redis "$(CLIENT_LIBRARIES)/gopath" $(CLIENTS)

# CLIENTS="--skip Java" skips a missing one.
clients: deps clients-deps ## test: Run clients/ through its table on three servers (CLIENTS="--skip Java", JAVA_JARS=DIR)
	@.ci/servers
	$(BUILD) -p seckill-clients --bin clients -p seckill-client --example driver
	@.ci/clients "$(CLIENT_LIBRARIES)" $(CLIENTS)
	@.ci/readme-examples "$(CLIENT_LIBRARIES)" $(CLIENTS)

clients-publish: deps clients-deps ## more: Pack the libraries of clients/, and use each in a project of its own
	@.ci/deps publish
	@.ci/clients-publish "$(CLIENT_LIBRARIES)" $(CLIENTS)

shop-deps:
	@.ci/deps orders php shop

# PORT=8080 sets the shop's port; its data is in target/shop.
shop: deps shop-deps ## use: Open a small whole shop in PHP on a free port, until Ctrl-C
	$(BUILD) -p seckill-cli --bin seckill
	@exec examples/shop/start target/shop

# SHOP="--docs docs/shop" makes the pictures of docs/shop.md again.
shop-test: deps shop-deps ## test: Play the shop's visitors in a browser, then `ab -c 500 -n 4000` on it
	@.ci/deps browser
	@npm install --loglevel=error --no-fund --prefix "$(CURDIR)/target/shop-test" puppeteer-core@24
	$(BUILD) -p seckill-cli --bin seckill
	@NODE_PATH="$(CURDIR)/target/shop-test/node_modules" exec node examples/shop/test/test.js $(SHOP)

durability: deps ## more: Measure what is lost when a server dies, setting by setting
	$(BUILD) -p seckill-torture --bin torture
	target/release/torture durability

broken: deps ## more: Break the code on purpose, and see that sim and torture tell (5 minutes)
	@.ci/broken

# Options of `make torture`: TORTURE="--seconds 60 --seed 7", TORTURE="--help".
# Two settings use libraries of clients/; a setting is skipped if its library is missing.
torture: export PYTHONPATH := $(CURDIR)/clients/python/src:$(CLIENT_LIBRARIES)/python:$(PYTHONPATH)
torture: export NODE_PATH := $(CLIENT_LIBRARIES)/node_modules:$(NODE_PATH)
torture: deps ## test: Kill, freeze, cut off and promote servers that sell, and check what they promised
	$(BUILD) -p seckill-torture --bin torture
	target/release/torture $(TORTURE)

# SECKILL_TEST_SERVER names another server; docs/ has a run of each.
bench: deps ## measure: Measure beside scripts that do the same work (15 to 30 minutes; BENCH=--quick: 90 s)
	$(BUILD) -p seckill-noop -p seckill-bench -p seckill-cli --bin bench --bin seckill
	target/release/bench --docs $(BENCH)

bench-instructions: ## measure: Count the server's instructions for one call (valgrind)
	@$(MAKE) bench BENCH="--only instructions"

# The lab is a separate workspace that shares the target folder, where it finds the module.
LAB_BUILD := $(BUILD) -p rush && cargo build --release --manifest-path lab/Cargo.toml --target-dir target

lab: deps orders-deps ## measure: Run every strategy of the posts beside the module (14 minutes; LAB=--quick: 90 s)
	$(if $(LAB),,@.ci/deps postgres && .ci/servers mysql-9.7.4)
	$(LAB_BUILD) --bin lab
	target/release/lab $(if $(LAB),$(LAB),--docs docs)

lab-soak: deps orders-deps ## more: The module's rows of the lab, 100 rushes each, without and with crashes
	$(LAB_BUILD) --bin lab
	target/release/lab --soak $(LAB)

lab-test: deps ## more: Check and test the lab's own code
	cargo fmt --manifest-path lab/Cargo.toml --check
	cargo clippy --manifest-path lab/Cargo.toml --target-dir target --all-targets -- -D warnings
	cargo test --manifest-path lab/Cargo.toml --target-dir target

# TIGERFANS=FOLDER is a checkout of github.com/renerocksai/tigerfans, which is not changed. Needs root.
# TIGERFANS_RUN=--quick: two minutes, without writing files.
TIGERFANS_PYTHON := $(CURDIR)/target/tigerfans
TIGERFANS_RUN ?=
lab-tigerfans: deps ## more: The load of TigerFans (a shop of others) on its PostgreSQL and on the module
	@test -n "$(TIGERFANS)" || { echo "Say where TigerFans lies: make lab-tigerfans TIGERFANS=FOLDER"; exit 1; }
	@.ci/deps postgres
	@python3 -m pip install --quiet --upgrade --target $(TIGERFANS_PYTHON) -r $(TIGERFANS)/requirements.txt
	$(BUILD) -p rush
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(TIGERFANS_PYTHON):$(CURDIR)/clients/python/src:$(CURDIR)/lab/tigerfans python3 lab/tigerfans/run.py \
		--tigerfans $(TIGERFANS) --module "$(MODULE)" $(or $(TIGERFANS_RUN),--json docs/tigerfans.json)
	$(if $(TIGERFANS_RUN),,python3 lab/tigerfans/pages.py docs/tigerfans.json docs)

lab-php-deps:
	@.ci/deps php

lab-php: deps lab-php-deps ## more: The posts' PHP on php-fpm and nginx, as printed and as meant, under ab
	$(LAB_BUILD) --bin lab_php
	target/release/lab_php $(if $(LAB),$(LAB),--docs docs)

migrate-deps:
	@.ci/deps migrate

migrate-test: deps migrate-deps ## test: Carry sales from the posts' programs to the module, and back
	cargo test --workspace --test migrate -- --include-ignored

# Server tests mostly wait, so more of them run at the same time than there are processors.
test test-server matrix: export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc) + 1)))

test: deps ## test: Run all tests
	cargo test --workspace

test-domain: ## more: Run the tests of the sale itself: no server, no libclang
	cargo test -p seckill-domain

# SERVER=valkey-9.1.2 uses one of the servers that .ci/servers fetches, instead of the system's.
test-server: deps ## test: Run the server tests (SERVER=valkey-9.1.2: on that server)
	$(if $(SERVER),.ci/servers $(SERVER))
	$(if $(SECKILL_MODULE),SECKILL_MODULE="$(SECKILL_MODULE)") \
		$(if $(SERVER),SECKILL_TEST_SERVER="$$(.ci/servers --where)/$(SERVER)/server") \
		cargo test --workspace --test server

# The release build of the module, without the debug assertions that tests use.
test-release: build ## more: Run the server tests against the release build (SERVER=valkey-9.1.2)
	$(MAKE) test-server SERVER=$(SERVER) SECKILL_MODULE="$(MODULE)"

matrix: deps ## test: Run the server tests on eight versions, two also with I/O threads, and mix them
	@.ci/deps languages
	@.ci/servers
	cargo build --workspace --bin matrix
	target/debug/matrix --servers "$$(.ci/servers --where)"

# SERVER=valkey-9.1.2 runs only that server. Needs tclsh; 30 minutes for each server, half of it waiting.
suites: build ## more: Run the servers' own tests with and without the module: does any of them differ?
	.ci/suites $(SERVER)

# The tests of the program build it, too.
cluster-test: deps ## more: Move slots, kill primaries, lose a part in clusters of six while they sell
	cargo test --workspace --test cli --no-run
	cargo test --workspace --test cluster -- --ignored --nocapture --test-threads=1

sim: deps ## test: Simulate sales, nodes and faults in memory against an oracle (SIM="--seconds 60")
	cargo build --release -p seckill -p seckill-sim --bin sim
	target/release/sim $(SIM)

# Newer nodes write a made-up form (tests/upgrade), older ones refuse it.
sim-upgrade: deps ## more: Simulate nodes of two versions of the module, and promotions between them
	.ci/upgrade-test sim $(or $(SIM),--seconds 60)

sim-parts: ## more: Simulate a rush on a split sale, with and without a balancer, against what is promised
	cargo test --release -p seckill-proof sim::
	cargo build --release -p seckill-proof --bin sim_parts
	target/release/sim_parts --picture docs/parts-units.svg

proof-parts: ## more: Go through all states of small split sales, and of larger ones
	cargo test --release -p seckill-proof search:: -- --include-ignored --nocapture

fuzz: deps ## more: Alter everything that is read from outside, without nightly (FUZZ=10: ten times as long)
	SECKILL_FUZZ=$(or $(FUZZ),1) cargo test --workspace --test fuzz long -- --ignored --nocapture --test-threads=1

coverage: ## more: List the lines of the module that no test of the domain or the server runs
	@.ci/coverage

# MUTANTS="--seed 7 --count 20 --only domain/".
mutants: deps ## more: Break the code in 100 places, one at a time, and tell which no test notices
	cargo run --release -p seckill-mutants -- $(MUTANTS)

memcheck: deps ## more: Run the server tests and altered calls under valgrind: no error, no leak (20 min)
	cargo test --workspace --test fuzz memcheck -- --ignored --nocapture
	@.ci/memcheck valgrind

# SANITIZE="thread other_modules::" runs only these tests, SANITIZE=planted checks planted errors.
SANITIZE ?= address
sanitize: deps ## more: Run the server tests with server and module built with a sanitizer (8 minutes)
	@.ci/memcheck $(SANITIZE)

soak: deps ## more: Run the slow tests, ten minutes or SECKILL_SOAK_SECONDS of them
	cargo test --release -p seckill -p seckill-torture --test server -- --exact soak::soak --ignored --nocapture
	$(BUILD) -p seckill-torture --bin torture
	target/release/torture --seconds 15

lint: deps ## test: Check formatting, warnings, house rules, and that each rule of commands.md has a test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --quiet --workspace --bin pages --bin bench the_pages_are_up_to_date
	cargo test --quiet --workspace --test tidy

# DIST="x86_64-gnu aarch64-gnu" chooses systems; the default is all.
dist: deps ## release: Make what is given out, into dist/: modules, packages, checksums (15 minutes)
	.ci/dist $(DIST)

image: ## more: Make the container images from dist/, without a daemon (as root; buildah, debootstrap)
	.ci/image

dist-test: ## release: Try dist/ in clean roots of Debian 12 and 11, with their own servers (as root)
	.ci/dist-test

dist-again: ## more: Build dist/ once more in another folder: the same bytes?
	.ci/dist-test reproducible

upgrade-test: deps ## release: Run this module with every release and with a made-up newer one, in all mixes
	.ci/upgrade-test

deny: ## more: Check licences, advisories, bans and sources of all crates (installs cargo-deny if missing)
	@command -v cargo-deny >/dev/null || cargo install cargo-deny --locked
	cargo deny --workspace check

fmt: ## more: Format the sources
	cargo fmt --all

docs: ## docs: Write the pages that come from the module's tables and from bench.json, and draw docs/*.dot
	cargo build --quiet --workspace --bin pages --bin bench
	target/debug/pages
	target/debug/bench --tables
	@if command -v dot >/dev/null; then \
		for drawing in docs/*.dot; do dot -Tsvg $$drawing -o $${drawing%.dot}.svg; done; \
		else echo "docs/*.svg are left as they are: drawing them takes graphviz (dot)"; fi

# Built in a copy, so that site/ keeps only its own few files. SECKILL_REPOSITORY is the address for links to other
# files, SECKILL_BASE the site's folder on the web server.
SITE := $(CURDIR)/target/site
site-deps:
	@mkdir -p "$(SITE)"
	@cp -r site/. "$(SITE)"
	@cd "$(SITE)" && npm install --loglevel=error --no-fund --no-audit --no-package-lock

site: site-deps ## docs: Make the site of docs/ in both languages: target/site/dist (Node 20 or newer)
	cd "$(SITE)" && SECKILL_ROOT="$(CURDIR)" npm run --silent build

site-test: site ## more: Read the site in Chromium: links, search, tabs, dark, phone
	@.ci/deps browser
	cd "$(SITE)" && node --test test.js
