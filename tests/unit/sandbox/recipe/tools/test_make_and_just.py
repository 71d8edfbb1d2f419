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
    assert any("other.mk" in note.step for note in Read("make lint", FILES).notes)
    assert any("no such target" in note.reason for note in Read("make nothing", FILES).notes)
    assert Read("make test").commands == ["make test"]


FUNCTIONS = {
    "$(wildcard tests/*.py)": "tests/a.py tests/b.py",
    "$(wildcard no/*.py setup.py)": "setup.py",
    "$(patsubst %.py,%.txt,a.py b.c)": "a.txt b.c",
    "$(SOURCES:.py=.txt)": "a.txt b.txt",
    "$(SOURCES:%.py=x/%)": "x/a x/b",
    "$(addprefix ./,$(SOURCES))": "./a.py ./b.py",
    "$(addsuffix /...,a b)": "a/... b/...",
    "$(subst a,b,a-a)": "b-b",
    "$(filter-out a.%,$(SOURCES))": "b.py",
    "$(filter a.py %.c,$(SOURCES))": "a.py",
    "$(sort b a b)": "a b",
    "$(word 2,$(SOURCES)) $(words a b c)": "b.py 3",
    "$(notdir $(firstword x/a.py y)) $(dir x/a.py)": "a.py x/",
    "$(basename a.py) $(suffix a.py)": "a .py",
    "$(if $(SOURCES),yes,no) $(if $(NONE),yes,no)": "yes no",
    "$(or $(NONE),b) $(and a,$(NONE))c": "b c",
    "$(call twice,a,b)": "b-a",
    "$(call twice,$(call twice,a,b),c)": "c-b-a",
    "$(foreach f,$(SOURCES),$(f:.py=)-$(basename $(f)))": "a-a b-b",
    "$(shell pwd)/x": "./x",
    "$(abspath $(dir $(lastword $(MAKEFILE_LIST))))": "./",
    "$$HOME $($(NAME))": "$HOME a.py b.py",
    "$(origin)$(NONE)x": "x",
}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_functions_of_make_are_computed(text: str) -> None:
    makefile = "SOURCES = a.py b.py\nNAME := SOURCES\ntwice = $(2)-$(1)\n"
    files = {"Makefile": f"{makefile}test:\n\ttool {text}\n", "setup.py": ""}
    read = Read("make", {**files, "tests/a.py": "", "tests/b.py": ""})
    assert read.commands == [f"tool {FUNCTIONS[text]}"]


MAKEFILES: dict[str, tuple[dict[str, str], list[str]]] = {
    "included files": (
        {
            "Makefile": "all:\ninclude ci/*.mk\n-include none.mk\ninclude $(DIR)/two.mk\nall: one two\n",
            "ci/one.mk": "DIR := other\none:\n\tpytest one\n",
            "other/two.mk": "two:\n\tpytest two\n",
        },
        ["pytest one", "pytest two"],
    ),
    "a file that includes itself": (
        {"Makefile": "include Makefile\ntest:\n\tpytest\n"},
        ["pytest"],
    ),
    "else with a condition": (
        {
            "Makefile": "A = b\nifeq ($(A),a)\nX = 1\nelse ifeq ($(A),b)\nX = 2\nelse\nX = 3\nendif\n"
            "test:\n\tpytest $(X)\n"
        },
        ["pytest 2"],
    ),
    "nested conditions": (
        {
            "Makefile": "ifdef NONE\nifeq (a,a)\nX = 1\nelse\nX = 2\nendif\nelse\nX = 3\nendif\n"
            "test:\n\tpytest $(X)\n"
        },
        ["pytest 3"],
    ),
    "a condition between commands": (
        {
            "Makefile": "test:\nifneq (,$(findstring x,xy))\n\tpytest a\nelse\n\tpytest b\nendif\n\tmypy\n"
        },
        ["pytest a", "mypy"],
    ),
    "commands of a define": (
        {"Makefile": "define run\npytest $(1)\n@mypy $(1)\nendef\ntest:\n\t$(call run,a)\n"},
        ["pytest a", "mypy a"],
    ),
    "variables of a target": (
        {"Makefile": "ARGS = -q\ntest: ARGS += -x\ntest: unit\nunit:\n\tpytest $(ARGS)\n"},
        ["pytest -q -x"],
    ),
    "a variable that names its old value": (
        {"Makefile": "A := a\nA := $(A) b\ntest:\n\tpytest $(A)\n"},
        ["pytest a b"],
    ),
    "a static pattern": (
        {
            "Makefile": "T = test-a test-b\nall: $(T)\n$(T): test-%: gen-%\n\tpytest $@\ngen-%:\n\tpython $*.py\n"
        },
        ["python a.py", "pytest test-a", "python b.py", "pytest test-b"],
    ),
    "a pattern and further needs": (
        {"Makefile": "test-a: lint\ntest-%:\n\tpytest $*\nlint:\n\tmypy\nall: test-a\n.DEFAULT:\n"},
        ["mypy", "pytest a"],
    ),
    "names that are computed": (
        {
            "Makefile": "F_a = --a\nF_b-c = --b\nall: test-a test-x-b-c\n"
            "test-%:\n\tpytest ${F_${@:test-%=%}}\ntest-x-%:\n\tmypy ${F_$*}\n"
        },
        ["pytest --a", "mypy --b"],
    ),
    "a pattern for any target": (
        {
            "Makefile": "include common.mk\ntest: common-test extra.go\nextra.go: %.go: gen.go\n",
            "common.mk": "%: common-% ;\ncommon-test: none.go\n\tpytest\nall: test\n",
            "gen.go": "",
        },
        ["pytest"],
    ),
    "a variable with a tab": (
        {
            "Makefile": "test:\n\tpytest $(A)\ninclude a.mk\nifdef CI\n\tA ?= -x\nendif\n",
            "a.mk": "",
        },
        ["pytest -x"],
    ),
    "one shell": (
        {"Makefile": ".ONESHELL:\ntest:\n\tcd sub\n\tpytest\n", "sub/x": ""},
        ["sub: pytest"],
    ),
    "the first percent sign only": (
        {"Makefile": "a-1: a-%: p%-%\n\tpytest $<\n"},
        ["pytest p1-%"],
    ),
    "too many lines": (
        {"Makefile": "A = 1\n" * 5000 + "test:\n\tpytest\n"},
        ["make"],
    ),
    "too many commands": (
        {"Makefile": "test:\n" + "\tpytest\n" * 201},
        ["make"],
    ),
    "a long command": (
        {"Makefile": "test:\n\tpytest " + "a" * 8000 + " && mypy\n"},
        ["make"],
    ),
    "too many targets": (
        {"Makefile": "all: " + " ".join(f"t{n}" for n in range(70)) + "\nt%:\n\tpytest $*\n"},
        ["make"],
    ),
}


@pytest.mark.parametrize("name", MAKEFILES)
def test_how_a_makefile_is_read(name: str) -> None:
    files, commands = MAKEFILES[name]
    assert Read("make", files).commands == commands


@pytest.mark.parametrize(
    ("line", "obstacle"),
    [
        ("$(foreach d,$(shell ls),cd $(d) && pytest;)", True),
        ("pytest $(patsubst %,./%,$(shell ls))", True),
        ("rm -f $(filter a,$(shell ls))", False),
    ],
)
def test_what_only_a_shell_computes_is_an_obstacle_of_a_check(line: str, *, obstacle: bool) -> None:
    read = Read("make", {"Makefile": f"test:\n\t{line}\n\tmypy\n"})
    assert read.commands == ["mypy"]
    assert bool(read.reading.obstacles) is obstacle


def test_a_check_without_a_rule_is_an_obstacle() -> None:
    makefile = "-include local.mk\nall: lint README.md lint.stamp\n\tpytest\n"
    read = Read("make", {"Makefile": makefile, "README.md": ""})
    assert read.commands == ["pytest"]
    assert read.reading.obstacles == ("`make lint`: there is no such target",)


def test_names_are_exported_with_the_values_that_are_known() -> None:
    makefile = "A = 1\nexport A B HOME\ntest:\n\tpytest\n"
    (command,) = Read("make", {"Makefile": makefile}).reading.commands
    assert command.environment == {"A": "1"}


LARGE = "LARGE := " + "word " * 1500 + "\n"
COSTLY = {
    "conditions": LARGE + "ifeq ($(LARGE),x)\nendif\n" * 2000,
    "loops": LARGE + "X := $(foreach a,$(LARGE),$(foreach b,$(LARGE),x))\n",
    "texts for words": LARGE + "X := $(addprefix $(LARGE),$(LARGE))\n" * 50,
    "patterns": LARGE + "X := $(filter $(LARGE),$(LARGE))\n" * 50,
    "files": ("X := $(wildcard " + "*.a " * 1900 + ")\n") * 60,
    "percent signs": "A = " + "a" * 3900 + "\nB = " + "%" * 3900 + "\n" + "$(A): %: $(B)\n" * 900,
    "names in a circle": "A = $$(B)\nB = $$(A)\nX := $($(A)) $(X)\n" * 900,
    "calls": "f = $(call f,$(1)$(1))$(call f,$(1))\nX := $(call f,x)\n",
}


@pytest.mark.parametrize("name", COSTLY)
def test_a_costly_makefile_is_not_read(name: str) -> None:
    read = Read("make test", {"Makefile": COSTLY[name] + "test:\n\tpytest\n"})
    assert read.commands in (["make test"], ["pytest"])
    exhausted = any("read too often" in note.reason for note in read.notes)
    assert exhausted is (name != "names in a circle")


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
