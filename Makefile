# The two commands of a fresh machine are `make demo` and `make test`; each installs what it needs.
VENV ?= .venv
PY := $(VENV)/bin/python
TESTS ?=
BENCH ?=
LOCK_FLAGS := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet

.PHONY: dev check fix test chaos demo serve image service-image release publish bench-sandbox bench-repair soak docs site lock docker browser postgres model clean

dev: $(VENV)/.ready  ## virtual environment with everything, from the lock file

$(VENV)/.ready: pyproject.toml requirements-dev.lock
	./scripts/make-venv $(VENV)
	@! git rev-parse --git-dir >/dev/null 2>&1 || git config core.hooksPath scripts/hooks

docker:  ## a Docker daemon that answers, installed and started when needed and possible
	./scripts/ensure-docker

postgres:  ## PostgreSQL for the tests of several workers, installed where we may
	./scripts/ensure-postgres

browser:  ## Chromium for the tests of pages, installed where we may
	./scripts/ensure-chromium

check: dev  ## format, lint, types, import contracts, unit and contract tests: about two minutes
	./scripts/check $(VENV)

fix: dev
	$(VENV)/bin/ruff check --fix . && $(VENV)/bin/ruff format .

model: dev  ## a small language model and its server for the tests, installed where we may
	./scripts/ensure-model $(VENV)

test: dev docker browser postgres model  ## every test but chaos; TESTS="-k word" runs a part
	./scripts/test $(VENV) $(TESTS)

chaos: dev docker postgres  ## processes killed, stopped and cut off, full disks, clocks that jump; minutes, on a quiet machine
	$(PY) -m pytest tests/chaos

demo: dev docker  ## red repositories on a local GitHub become pull requests; no key, no account
	$(PY) -m tests.demo

serve: dev
	$(VENV)/bin/metaagent serve

image: dev docker
	$(VENV)/bin/metaagent image

service-image: dev docker  ## the service's image, also without a registry
	./scripts/build-service-image $(VENV)

release: dev  ## wheel, source archive, list of parts and checksums of a release, in build/release
	./scripts/build-release $(VENV)

publish: dev  ## publish build/release to the package index; works in GitHub's workflow only
	./scripts/publish-release $(VENV) build/release

bench-sandbox: dev docker  ## the sandbox's figures, each beside what is demanded of it, as one line of JSON
	@$(PY) -m benchmarks.sandbox

bench-repair: dev docker  ## what the search repairs, a line of JSON for each set; BENCH="--set quixbugs --tests half" runs a part
	@test -n "$(BENCH)" || $(PY) -m benchmarks.sets.packages
	@test -n "$(BENCH)" || $(PY) -m benchmarks.sets.releases
	@$(PY) -m benchmarks.repair $(BENCH)
	@test -n "$(BENCH)" || $(PY) -m benchmarks.search_rate

soak: dev docker  ## a hundred missions and a kill -9: what is left behind, as one line of JSON
	@$(PY) -m benchmarks.soak

docs: dev  ## rewrite what is generated
	$(PY) -m tests.architecture.generated --write

site: dev  ## the documents as a site in build/docs/site; a broken link is an error
	./scripts/build-site $(VENV)

lock:  ## versions and hashes, no addresses
	$(VENV)/bin/uv pip compile pyproject.toml --group dev $(LOCK_FLAGS) -o requirements-dev.lock
	$(VENV)/bin/uv pip compile pyproject.toml --extra prices --extra s3 --extra metrics --extra otel -c requirements-dev.lock $(LOCK_FLAGS) -o requirements.lock
	$(VENV)/bin/uv pip compile --group model --no-deps $(LOCK_FLAGS) -o requirements-model.lock

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
