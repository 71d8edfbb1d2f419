"""nox: sessions read from the syntax tree."""

from textwrap import dedent

import pytest

from tests.tool_reading import Read

FILE = '''
import os
from pathlib import Path
import nox
from nox import parametrize

HERE = Path(__file__).parent
PYTHONS = ["3.10", "3.11"]
LOCATIONS = "src", "tests", "noxfile.py"
BASE = ["pytest", "coverage[toml]"]
nox.options.sessions = ["lint", "tests"]
nox.options.reuse_existing_virtualenvs = True


def install(session, *extra, locked=True):
    session.install("-e", ".[test]")
    session.install(*BASE, *extra)
    if locked:
        session.install("-c", "constraints.txt", "six")


@nox.session(python=PYTHONS, tags=["ci"])
@nox.parametrize("django", ["3.2", "4.2"])
def tests(session: nox.Session, django: str) -> None:
    """Run them."""
    install(session, f"django=={django}")
    args = session.posargs or ["--cov", str(HERE / "src")]
    if session.python == "3.10":
        session.install("tomli")
    session.env["MODE"] = "fast"
    with session.chdir("sub"):
        session.run("pytest", *args, env={"X": "1"})
    session.run("coverage", "report")


@nox.session(name="lint", venv_backend="none")
def linting(session):
    args = session.posargs or LOCATIONS
    session.install("flake8")
    for tool in ("flake8", "black"):
        session.run(tool, *args)


@nox.session
def odd(session):
    version = compute()
    session.install("a", version)
    session.run("pytest", "-k", unknown(), external=True)
    if os.environ.get("CI"):
        session.run("pytest", "ci")
    session.error("no")
    session.run("never")


@nox.session(default=False)
def docs(session):
    session.cd("docs")
    session.run_install("uv", "sync", "--group", "docs", env={"UV": "1"})
    session.run_always("python", "build.py", silent=True)
'''
FILES = {"noxfile.py": FILE, "setup.py": "", "constraints.txt": "six<2\n"}


def test_a_session_with_its_functions_and_parameters() -> None:
    read = Read("nox -s tests-3.11", FILES)
    assert read.commands == ["sub: pytest --cov src"]
    assert read.reading.commands[0].environment == {"MODE": "fast", "X": "1"}
    assert read.lines == ["pytest", "coverage[toml]", "django==3.2", "six"]
    assert read.projects == [".[test]"]
    assert read.reading.wanted.constraints == ("six<2",)
    assert read.reading.python == "3.11"


CALLS = {
    "nox -s lint": ["flake8 src tests noxfile.py", "black src tests noxfile.py"],
    "nox -s lint -- a": ["flake8 a", "black a"],
    "nox --session=lint -- a": ["flake8 a", "black a"],
    "nox -slint -- a": ["flake8 a", "black a"],
    "nox -e lint --non-interactive --error-on-missing-interpreter -- a": ["flake8 a", "black a"],
    "python -m nox -s lint -- a": ["flake8 a", "black a"],
    "NOXSESSION=lint nox -- a": ["flake8 a", "black a"],
    "nox -k lint -- a": ["flake8 a", "black a"],
    "nox -t ci -- a": ["sub: pytest a"],
    "nox -- a": ["flake8 a", "black a", "sub: pytest a"],
    "nox -f noxfile.py -s lint -- a": ["flake8 a", "black a"],
    "nox -s \"tests(django='4.2')\" -- a": ["sub: pytest a"],
    "nox -s docs": ["docs: python build.py"],
    "nox -l": [],
}


@pytest.mark.parametrize("call", CALLS)
def test_what_a_call_runs(call: str) -> None:
    assert Read(call, FILES).commands == CALLS[call]


def test_a_cell_is_chosen_by_its_parameters() -> None:
    assert "django==4.2" in Read("nox -s \"tests-3.11(django='4.2')\"", FILES).lines
    assert "tomli" in Read("nox -s tests-3.10", FILES).lines
    assert "tomli" in Read("nox -s tests -p 3.10", FILES).lines


def test_what_is_computed_is_left_out_and_told() -> None:
    read = Read("nox -s odd", FILES)
    assert read.commands == ["pytest -k"]
    assert read.lines == ["a"]
    assert any("compute" in note.step or "version" in note.step for note in read.notes)


def test_a_session_nobody_can_read_is_told() -> None:
    assert "no such readable session" in Read("nox -s none", FILES).notes[0].reason
    assert "no readable noxfile.py" in Read("nox -s none", {}).notes[0].reason


def test_functions_and_constants_that_call_each_other_end() -> None:
    text = "import nox\nA = B\nB = A\ndef f(session):\n    g(session)\ndef g(session):\n    f(session)\n    session.run('pytest', A)\n@nox.session\ndef t(session):\n    f(session)\n"
    assert set(Read("nox -s t", {"noxfile.py": text}).commands) <= {"pytest"}


def test_a_list_that_doubles_is_cut() -> None:
    text = (
        "import nox\n@nox.session\ndef t(session):\n    x = ['a']\n"
        + "    x = x + x\n" * 60
        + "    session.run('pytest', *x)\n"
    )
    assert len(Read("nox", {"noxfile.py": text}).commands) <= 1


def test_groups_of_the_project_are_installed_by_name() -> None:
    noxfile = """
        import nox
        PROJECT = nox.project.load_toml("pyproject.toml")
        @nox.session
        def tests(session):
            session.install(*nox.project.dependency_groups(PROJECT, "ci"))
            session.run("pytest")
    """
    toml = '[project]\nname="m"\n[dependency-groups]\nci=["hypothesis"]\n'
    read = Read("nox -s tests", {"noxfile.py": dedent(noxfile), "pyproject.toml": toml})
    assert (read.lines, read.commands) == (["hypothesis"], ["pytest"])
