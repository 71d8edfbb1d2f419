"""make and just: targets, prerequisites first, plain variables filled in."""

import pytest

from tests.tool_reading import Read

MAKEFILE = """
# made by hand
PYTHON ?= python
VENV := .venv
PYTEST = $(PYTHON) -m pytest
ARGS ?=
DIRS = . inner
export DJANGO_SETTINGS_MODULE = m.settings
ifeq ($(CI),true)
FAST = 1
else
FAST = 0
endif
.PHONY: all test lint
all: test lint  ## both

install: requirements.txt
\t@echo installing
\tpip install -r requirements.txt
\t$(VENV)/bin/pip install -e '.[dev]'

test: gen
\t-rm -f junk
\t@$(PYTEST) tests \\
\t    $(ARGS)

gen: ; python gen.py

lint:
\truff check . && \\
\truff format --check .

sub:
\t$(MAKE) -C inner test
\tcd inner && $(PYTEST)

shell:
\tfor d in a b; do pytest $$d; done
\tpytest -n $(shell nproc)

each:
\t$(foreach dir,$(DIRS),(cd $(dir) && pytest $(ARGS)) &&) true

check-%:
\ttool $* --name $@

loop: pool
\tpytest loop
pool: loop
\tpytest pool
twice: gen gen install
\tpytest
\t$(MAKE) twice
define BIG
\tnot read
endef
include other.mk
"""
FILES = {
    "Makefile": MAKEFILE.lstrip(),
    "inner/Makefile": "test:\n\tpytest inner\n",
    "requirements.txt": "six\n",
    "gen.py": "",
}
CALLS = {
    "make": [
        "python gen.py",
        "rm -f junk || true",
        "python -m pytest tests",
        "ruff check .",
        "ruff format --check .",
    ],
    "make lint": ["ruff check .", "ruff format --check ."],
    "make test ARGS=-x": ["python gen.py", "rm -f junk || true", "python -m pytest tests -x"],
    "make test PYTHON=python3 -j 4": [
        "python gen.py",
        "rm -f junk || true",
        "python -m pytest tests",
    ],
    "make PYTEST='pytest -q' test": ["python gen.py", "rm -f junk || true", "pytest -q tests"],
    "make install": [],
    "make sub": ["inner: pytest inner", "inner: python -m pytest"],
    "make -C inner test": ["inner: pytest inner"],
    "make --directory=inner": ["inner: pytest inner"],
    "make shell": ["pytest a", "pytest b", "pytest -n $(nproc)"],
    "make each ARGS=-x": ["pytest -x", "inner: pytest -x"],
    "make check-style": ["tool style --name check-style"],
    "make loop": ["pytest pool", "pytest loop"],
    "make -k lint": ["ruff check .", "ruff format --check ."],
}


@pytest.mark.parametrize("call", CALLS)
def test_what_make_runs(call: str) -> None:
    assert Read(call, FILES).commands == CALLS[call]


def test_what_targets_install_and_export() -> None:
    read = Read("make install lint", FILES)
    assert (read.lines, read.projects) == (["six"], [".[dev]"])
    assert read.reading.commands[0].environment == {"DJANGO_SETTINGS_MODULE": "m.settings"}


def test_a_target_that_calls_make_on_itself_ends() -> None:
    assert len(Read("make twice", FILES).commands) < 100


def test_what_make_cannot_read_is_told() -> None:
    assert any("included" in note.reason for note in Read("make lint", FILES).notes)
    assert any("no such target" in note.reason for note in Read("make nothing", FILES).notes)
    assert Read("make test").commands == ["make test"]


JUSTFILE = """
set shell := ["bash", "-c"]
python := "python3"
export MODE := 'fast'
alias t := test

# the first one
default: lint test

install extra="dev":
    pip install -e ".[{{extra}}]"

@test *args: gen
    {{python}} -m pytest {{args}}

gen:
    -python gen.py

lint path=".":
    ruff check {{path}}
    ruff format --check {{path}}

script:
    #!/usr/bin/env bash
    set -e
    cd sub
    pytest

odd:
    #!/usr/bin/env python
    print("x")

after: gen && lint
    pytest

loop: pool
    pytest
pool: loop
    ruff check
"""
JUST = {
    "just": ["ruff check .", "ruff format --check .", "python gen.py || true", "python -m pytest"],
    "just t": ["python gen.py || true", "python -m pytest"],
    "just test -x tests/a": ["python gen.py || true", "python -m pytest -x tests/a"],
    "just lint src": ["ruff check src", "ruff format --check src"],
    "just lint": ["ruff check .", "ruff format --check ."],
    "just gen lint": ["python gen.py || true", "ruff check .", "ruff format --check ."],
    "just script": ["sub: pytest"],
    "just after": ["python gen.py || true", "pytest", "ruff check .", "ruff format --check ."],
    "just loop": ["ruff check", "pytest"],
    "just --justfile justfile lint": ["ruff check .", "ruff format --check ."],
    "just --list": [],
}


@pytest.mark.parametrize("call", JUST)
def test_what_just_runs(call: str) -> None:
    assert Read(call, {"justfile": JUSTFILE}).commands == JUST[call]


def test_what_just_installs_and_what_it_cannot() -> None:
    assert Read("just install", {"justfile": JUSTFILE, "setup.py": ""}).projects == [".[dev]"]
    assert Read("just install test", {"justfile": JUSTFILE, "setup.py": ""}).projects == [".[test]"]
    assert "program" in Read("just odd", {"justfile": JUSTFILE}).reading.obstacles[0]
    assert Read("just x").commands == ["just x"]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("ifeq ($(A),x)", True),
        ("ifeq ( $(A) , x )", True),
        ("ifeq (x,$(A))", True),
        ("ifneq ($(A),x)", False),
        ('ifeq "$(A)" "x"', True),
        ("ifeq '$(A)' 'y'", False),
        ("ifeq (y,$(A))", False),
        ("ifeq ($(B),)", True),
        ("ifneq ($(findstring x,$(A)),)", True),
        ("ifeq ($(shell uname),Linux)", True),
    ],
)
def test_conditions_of_make_compare_variables(condition: str, *, holds: bool) -> None:
    text = f"A = x\n{condition}\nP = yes\nelse\nP = no\nendif\ntest:\n\tpytest $(P)\n"
    assert Read("make", {"Makefile": text}).commands == [f"pytest {'yes' if holds else 'no'}"]
