"""Poe the Poet: a task stands for the commands that it runs."""

import pytest

from tests.tool_reading import Read

TASKS = """
[tool.poetry]
name = "m"
[tool.poe]
env = {LEVEL = "high", ROOT = "${POE_ROOT}/src", DEPTH.default = "1"}
[tool.poe.tasks]
test = "pytest -q"
all = ["lint", {cmd = "pytest -x"}, "types --strict"]
types = {cmd = "mypy", cwd = "src"}
same = {ref = "test -k a"}
pipe = {shell = "ruff check .\\nmypy src"}
odd = {shell = "print(1)", interpreter = "python"}
call = {script = "tools.check:main"}
calls = {script = "tools.check:main(strict=True)"}
loop = ["loop", "loop"]
choice = {control = {expr = "1"}, switch = [{cmd = "pytest"}]}
lost = ["nowhere", "test"]
soft = {sequence = ["lint", "test"], ignore_fail = true}
built = {cmd = "pytest built", deps = ["gen"]}
odd_soft = {sequence = ["lint"], ignore_fail = ["lint"]}
many = [MANY]
instead = {cmd = "pytest", env = {DEPTH = "${LEVEL:+x}${UNSET:+y}"}}
gen = {cmd = "python gen.py", env = {DEPTH = "${LEVEL}-${UNSET:-x}"}}
both = {parallel = ["lint", "test"]}
handed = {args = {_where = {positional = true}}, sequence = ["one ${_where}"]}
[tool.poe.tasks.lint]
cmd = '''
ruff check  # comment
  --output-format=github .
'''
[tool.poe.tasks.one]
args = [{name = "path", positional = true, default = "tests"}, {name = "mark", options = ["-m"]}, {name = "fast", type = "boolean"}]
cmd = "pytest -m ${mark} $path"
[tool.poe.groups.more.tasks]
grouped = "pytest grouped"
""".replace("MANY", "'test', " * 41)
CALLS = {
    "poe test": ["pytest -q"],
    "poe test tests -k 'a b'": ["pytest -q tests -k 'a b'"],
    "poetry run poe test": ["pytest -q"],
    "poetry poe test -x": ["pytest -q -x"],
    "uv run poe test": ["pytest -q"],
    "uvx --from poethepoet poe -v test": ["pytest -q"],
    "uvx poethepoet test": ["pytest -q"],
    "python -m poethepoet test": ["pytest -q"],
    "cd src && poe -C .. test": ["pytest -q"],
    "cd src/m && poe test": ["pytest -q"],
    "poe all": ["ruff check --output-format=github .", "pytest -x", "src: mypy --strict"],
    "poe same -x": ["pytest -q -k a -x"],
    "poe pipe": ["ruff check .", "mypy src"],
    "poe odd": [],
    "poe call": ["python -c 'import tools.check; tools.check.main()'"],
    "poe calls": ["python -c 'import tools.check; tools.check.main(strict=True)'"],
    "poe choice": [],
    "poe lost": ["pytest -q"],
    "poe soft": ["ruff check --output-format=github . || true", "pytest -q || true"],
    "poe odd_soft": ["ruff check --output-format=github ."],
    "poe built": ["python gen.py", "pytest built"],
    "poe both": ["ruff check --output-format=github .", "pytest -q"],
    "poe one -m slow": ["pytest -m slow tests"],
    "poe one --fast unit --mark=x -m y": ["pytest -m y unit"],
    "poe handed unit": ["pytest -m ${mark} unit"],
    "poe grouped": ["pytest grouped"],
    "poe nowhere": ["poe nowhere"],
    "poe --version": [],
    "poe": [],
}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_task_runs(call: str) -> None:
    assert Read(call, {"pyproject.toml": TASKS}).commands == CALLS[call]


def test_variables_of_the_project_and_of_a_task() -> None:
    read = Read("DEPTH=2 poe test; poe built", {"pyproject.toml": TASKS})
    first, generated, _ = (command.environment for command in read.reading.commands)
    assert first == {"LEVEL": "high", "ROOT": "/work/repo/src", "DEPTH": "2"}
    assert generated["DEPTH"] == "high-x"
    (instead,) = Read("poe instead", {"pyproject.toml": TASKS}).reading.commands
    assert instead.environment["DEPTH"] == "x"


def test_what_is_not_read_is_an_obstacle() -> None:
    reasons = {"odd": "another shell", "choice": "`switch`", "many": "more than 40 parts"}
    for name, words in reasons.items():
        (obstacle,) = Read(f"poe {name}", {"pyproject.toml": TASKS}).reading.obstacles
        assert words in obstacle


def test_tasks_of_other_files() -> None:
    files = {
        "pyproject.toml": '[tool.poe]\ninclude = ["more.toml", {path = "none.toml"}]\ntasks = {a = "pytest a"}\n',
        "more.toml": '[tool.poe.tasks]\na = "pytest b"\nb = "pytest b"\n',
    }
    assert Read("poe a && poe b", files).commands == ["pytest a", "pytest b"]
    assert Read("poe a", {"poe_tasks.toml": '[tasks]\na = "pytest a"\n'}).commands == ["pytest a"]


def test_tasks_that_call_each_other_end() -> None:
    read = Read("poe loop", {"pyproject.toml": TASKS})
    assert read.commands == []
    assert "too often" in read.reading.obstacles[0]
    rows = [f"t{n} = {[f't{n + 1}'] * 40}" for n in range(8)]
    wide = "\n".join(("[tool.poe.tasks]", *rows, 't8 = "pytest"'))
    assert len(Read("poe t0", {"pyproject.toml": wide}).commands) < 1600


def test_odd_tables_are_no_error() -> None:
    for text in ("[tool.poe]\ntasks = 1", "[tool.poe.tasks]\na = 1", "[tool.poe.tasks]\na = {cmd = [1]}",
                 "[tool.poe.tasks]\na = {sequence = 1}", "[tool.poe.tasks]\na = {cmd = 'pytest', args = 1, env = 2}",
                 "[tool.poe]\ninclude = 5\ntasks = {a = 'pytest'}"):  # fmt: skip
        Read("poe a", {"pyproject.toml": text})
