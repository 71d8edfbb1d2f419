"""tox: which environments are meant, and what they install and run."""

import pytest

from tests.tool_reading import Read

INI = """
[tox]
envlist = py{39,311}-django{32,42}, lint, docs
[gh-actions]
python =
    3.9: py39
    3.11: py311, lint
[base]
deps =
    pytest
    pytest-cov>=4  # measured
[testenv]
deps =
    {[base]deps}
    django32: Django>=3.2,<4
    django42: Django~=4.2
    !lint: six
    -r requirements/extra.txt
    -cconstraints.txt
setenv =
    PYTHONPATH = {toxinidir}/src
    NAME = {envname}
extras = test
commands_pre = python gen.py
commands =
    coverage run -m pytest {posargs:tests -q} \\
        --rootdir {toxinidir}
    coverage report
[testenv:lint]
skip_install = true
deps = ruff==0.5
commands =
    ruff check {posargs:.}
    - black --check .
[testenv:docs]
changedir = docs
commands = sphinx-build -W . out
[testenv:{a,b}-unit]
deps =
commands =
    a: pytest a
    b: pytest b
"""
FILES = {
    "tox.ini": INI,
    "setup.py": "",
    "requirements/extra.txt": "attrs\n-e ./libs/core\n",
    "constraints.txt": "six<2\n",
}


def test_an_environment_by_its_name() -> None:
    read = Read("tox -e py311-django42", FILES)
    assert read.commands == ["python gen.py", "python -m pytest tests -q --rootdir ."]
    assert read.lines == ["pytest", "pytest-cov>=4", "Django~=4.2", "six", "attrs"]
    assert read.projects == ["libs/core", ".[test]"]
    assert read.reading.wanted.constraints == ("six<2",)
    assert read.reading.commands[0].environment == {"PYTHONPATH": "src", "NAME": "py311-django42"}
    assert read.reading.python == "3.11"


CHOICES = {
    "tox -e lint": ["ruff check ."],
    "tox -elint": ["ruff check ."],
    "tox run -e lint -- src": ["ruff check src"],
    "tox -q -e 'lint' --skip-missing-interpreters=true": ["ruff check ."],
    "tox -e a-unit,b-unit": ["pytest a", "pytest b"],
    "tox -e a-unit -e b-unit": ["pytest a", "pytest b"],
    "tox p -e a-unit -p auto": ["pytest a"],
    "TOXENV=a-unit tox": ["pytest a"],
    "python -Xutf8 -Im tox -e a-unit": ["pytest a"],
    "python -m tox -e a-unit": ["pytest a"],
    "uvx --with tox-uv tox -e a-unit": ["pytest a"],
    "uv tool run tox run -e a-unit": ["pytest a"],
    "tox -e docs": ["docs: sphinx-build -W . out"],
    "tox -f lint": ["ruff check ."],
    "tox list": [],
    "tox --version": [],
    "tox -c tox.ini -e a-unit": ["pytest a"],
}


@pytest.mark.parametrize("call", CHOICES)
def test_what_a_call_runs(call: str) -> None:
    assert [line for line in Read(call, FILES).commands if "gen.py" not in line] == CHOICES[call]


def test_the_actions_plugin_chooses_by_python() -> None:
    read = Read("tox", FILES)
    assert read.commands[-1] == "ruff check ."
    assert {"Django>=3.2,<4", "Django~=4.2"} <= set(read.lines)


def test_the_newer_plugin_names_environments() -> None:
    ini = "[tox]\nenv_list = 3.11, lint\n[gh]\npython =\n    3.11 = 3.11, lint\n[testenv]\ncommands = pytest\n[testenv:lint]\ncommands = ruff check\n"
    assert Read("tox", {"tox.ini": ini}).commands == ["pytest", "ruff check"]


MAPPED = """
[tox]
envlist = py{310,311}-{a,b}-{linux,windows}, lint
[gh-actions]
python =
    3.10: py310
    3.11: py311, lint
    pypy-3.11: pypy3
[gh-actions:env]
DB =
    1.0: a
    2.0: b
PLATFORM =
    ubuntu-latest: linux
    windows-latest: windows
[testenv]
commands = pytest -k {envname}
[testenv:lint]
commands = ruff check
"""


def test_the_actions_plugin_chooses_by_variables_too() -> None:
    files = {"tox.ini": MAPPED}
    given = {"DB": "2.0", "PLATFORM": "ubuntu-latest"}
    chosen = ["pytest -k py311-b-linux"]
    assert Read("tox", files, environment=given).commands == chosen
    assert Read("DB=1.0 tox", files, environment=given).commands == ["pytest -k py311-a-linux"]
    assert len(Read("tox", files, python="3.10").commands) == 4
    given = {"TOX_GH_MAJOR_MINOR": "3.10", **given}
    assert Read("tox", files, environment=given).commands == ["pytest -k py310-b-linux"]


def test_a_command_runs_in_an_environment() -> None:
    ini = "[testenv]\ndeps = six\nsetenv = A = 1\nchangedir = x\ncommands = pytest\n"
    read = Read("cd y && tox exec -e py -- pytest -k 'a b'", {"tox.ini": ini})
    assert (read.commands, read.lines) == (["y: pytest -k 'a b'"], ["six"])
    assert read.reading.commands[0].environment == {"A": "1"}


def test_words_of_a_table_stay_words() -> None:
    toml = """
    [env_run_base]
    commands = [
      ["python", "-c", "assert r'{env_python}'"],
      ["pytest", "--cov", "{env_site_packages_dir}{/}m", "{posargs:tests}"],
    ]
    """
    files = {"tox.toml": toml, "src/m.py": ""}
    first, second = Read("tox -e py -- a 'b c'", files).commands
    assert first == """python -c 'assert r'"'"'python'"'"''"""
    assert second == "pytest --cov ./src/m a 'b c'"
    assert Read("tox -e py", {"tox.toml": toml}).commands[1] == "pytest --cov ./m tests"


def test_containers_of_an_environment_are_obstacles() -> None:
    ini = "[testenv]\ndocker =\n    a: redis\ncommands = pytest\n"
    missing = Read("tox -e py-a", {"tox.ini": ini}).reading.obstacles
    assert missing == ("needs the service redis, no service is started",)
    assert Read("tox -e py", {"tox.ini": ini}).reading.obstacles == ()


def test_an_older_mark_for_arguments() -> None:
    ini = "[testenv]\ncommands = pytest [] tests[]\n"
    assert Read("tox -e py -- -k 'a b'", {"tox.ini": ini}).commands == ["pytest -k 'a b' tests[]"]
    assert Read("tox -e py", {"tox.ini": ini}).commands == ["pytest tests[]"]


def test_without_a_name_the_environments_of_the_jobs_python_run() -> None:
    ini = "[tox]\nenvlist = py39, py311, pypy3\n[testenv]\ncommands = pytest -k {envname}\n"
    assert Read("tox", {"tox.ini": ini}).commands == ["pytest -k py311"]
    assert Read("tox", {"tox.ini": ini}, python=None).commands == ["pytest -k py39"]
    assert Read("tox", {"tox.ini": ini}, python="3.13").commands == ["pytest -k py39"]


def test_setup_cfg_and_the_old_table_of_pyproject() -> None:
    assert Read(
        "tox -e x", {"setup.cfg": "[tox:tox]\nenvlist=x\n[testenv]\ncommands = pytest\n"}
    ).commands == ["pytest"]
    legacy = '[tool.tox]\nlegacy_tox_ini = """\n[tox]\nenvlist = x\n[testenv]\ndeps = six\ncommands = pytest\n"""\n'
    read = Read("tox -e x", {"pyproject.toml": legacy})
    assert (read.commands, read.lines) == (["pytest"], ["six"])


TOML = """
[tool.tox]
env_list = ["3.11", "lint"]
[tool.tox.env_run_base]
deps = ["pytest>=8", "-r req.txt"]
dependency_groups = ["test"]
set_env = {A = "1", B = "{env_name}"}
commands = [["pytest", {replace = "posargs", default = ["tests", "-q"], extend = true}]]
[tool.tox.env.lint]
skip_install = true
deps = ["ruff"]
commands = [["ruff", "check", "."], ["ruff", "format", "--check", "a b"]]
[tool.tox.env.same]
deps = [{replace = "ref", of = ["env", "lint", "deps"], extend = true}]
commands = [["pytest"]]
[dependency-groups]
test = ["hypothesis"]
"""


def test_the_table_of_today() -> None:
    files = {"pyproject.toml": TOML, "req.txt": "six\n"}
    read = Read("tox -e 3.11", files)
    assert (read.commands, read.lines) == (["pytest tests -q"], ["pytest>=8", "six", "hypothesis"])
    assert read.reading.commands[0].environment == {"A": "1", "B": "3.11"}
    assert Read("tox -e 3.11 -- -x", files).commands == ["pytest -x"]
    assert Read("tox -e lint", files).commands == ["ruff check .", "ruff format --check 'a b'"]
    assert Read("tox -e same", files).lines[0] == "ruff"


def test_environments_of_a_product_are_named() -> None:
    text = """
    env_list = ["lint", {product = [{prefix = "py3", start = 10, stop = 11}, {db = ["a", "b"]}], exclude = ["py311-b"]},
                {prefix = "py3", start = 11, stop = 11}]
    [env_run_base]
    commands = [["tool", "{env_name}"]]
    """
    named = ["tool lint", "tool py311-a", "tool py311"]
    assert Read("tox", {"tox.toml": text}).commands == named


def test_tox_toml_has_the_same_tables_at_the_top() -> None:
    text = 'env_list = ["a"]\n[env_run_base]\ncommands = [["pytest"]]\n'
    assert Read("tox", {"tox.toml": text}).commands == ["pytest"]


def test_sections_that_refer_to_themselves_end() -> None:
    ini = "[tox]\nenvlist=a\n[testenv]\nbase = testenv\ndeps = {[testenv]deps}\ncommands = {[x]y} {[testenv]commands}\n[x]\ny = {[x]y}{[x]y}\n"
    assert Read("tox", {"tox.ini": ini}).lines == []


def test_what_decides_whether_the_project_is_installed() -> None:
    for line in ("skip_install = true", "package = skip"):
        assert (
            Read(
                "tox -e a", {"setup.py": "", "tox.ini": f"[testenv]\n{line}\ncommands=pytest\n"}
            ).projects
            == []
        )
    off = {"setup.py": "", "tox.ini": "[tox]\nskipsdist = True\n[testenv]\ncommands=pytest\n"}
    assert Read("tox -e a", off).projects == []
    on = {
        "setup.py": "",
        "tox.ini": "[tox]\nskipsdist = True\n[testenv]\nusedevelop = True\ncommands=pytest\n",
    }
    assert Read("tox -e a", on).projects == ["."]


def test_no_configuration_is_told() -> None:
    read = Read("tox -e a", {})
    assert read.commands == ["tox -e a"]
    assert "no configuration" in read.notes[0].reason


def test_the_lock_of_uv_is_kept_to_where_tox_does() -> None:
    files = {
        "pyproject.toml": '[project]\nname="m"\n[dependency-groups]\ntest=["six"]\n[tool.tox]\nenv_list=["a"]\n'
        '[tool.tox.env_run_base]\nrunner="uv-venv-lock-runner"\ndependency_groups=["test"]\ncommands=[["pytest"]]\n',
        "uv.lock": '[[package]]\nname = "six"\nversion = "1.16"\nsource = { registry = "https://example.org" }\n',
    }
    read = Read("tox -e a", files)
    assert read.projects == [".", ".[test]"]
    assert read.reading.wanted.constraints == ("six==1.16",)


def test_a_value_below_an_option_without_one_is_no_error() -> None:
    text = "[tox]\nenvlist\n  py\n[testenv]\ncommands = pytest\n"
    for name, content in (
        ("tox.ini", text),
        ("pyproject.toml", f'[tool.tox]\nlegacy_tox_ini = """\n{text}"""\n'),
    ):
        assert Read("tox", {name: content}).commands == ["tox"]


@pytest.mark.parametrize(("count", "obstacle"), [(12, False), (41, True)])
def test_no_environment_is_left_out_in_silence(count: int, *, obstacle: bool) -> None:
    names = ",".join(f"t{n}" for n in range(count))
    read = Read(f"tox -e {names}", {"tox.ini": "[testenv]\ncommands = pytest {env_name}\n"})
    assert len(read.commands) == (0 if obstacle else count)
    assert bool(read.reading.obstacles) is obstacle
