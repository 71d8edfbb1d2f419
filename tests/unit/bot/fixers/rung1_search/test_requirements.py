"""Missing requirements: named only when known, placed where the project declares its own, and only ever proposed."""

import tomllib

import pytest

from bot.fixers.rung1_search.declared import declared_in, is_declaring
from bot.fixers.rung1_search.requirement_places import place_requirement
from bot.fixers.rung1_search.requirements import MissingRequirement, decide, missing_requirement
from tests.builders import a_failure, a_report
from tests.fakes.fake_workspace import FakeWorkspace

PROJECT = '[project]\nname = "shop"\ndependencies = [\n    "click>=8",\n    "requests",  # why\n]\n'


@pytest.mark.parametrize(
    ("path", "text", "tests", "line"),
    [
        ("pyproject.toml", PROJECT, False, '    "requests",  # why\n    "PyYAML>=6",\n]'),
        (
            "pyproject.toml",
            '[project]\nname = "a"\ndependencies = ["click"]\n',
            False,
            '["click", "PyYAML>=6"]',
        ),
        (
            "pyproject.toml",
            "[project]\nname = 'a'\ndependencies = ['click',]\n",
            False,
            "['click', 'PyYAML>=6']",
        ),
        ("pyproject.toml", '[project]\nname = "a"\ndependencies = []\n', False, '["PyYAML>=6"]'),
        (
            "pyproject.toml",
            '[project]\nname = "a"\n\n[tool.x]\ny = 1\n',
            False,
            '\ndependencies = ["PyYAML>=6"]\n',
        ),
        (
            "pyproject.toml",
            '[project]\nname = "a"\ndependencies = [\n  "a[b]>=1",\n  "c"\n]\n',
            False,
            '\n  "PyYAML>=6",\n',
        ),
        (
            "pyproject.toml",
            PROJECT + '[project.optional-dependencies]\ntest = ["pytest"]\n',
            True,
            'test = ["pytest", "PyYAML>=6"]',
        ),
        (
            "pyproject.toml",
            PROJECT + '[dependency-groups]\ndev = [\n  "pytest",\n]\n',
            True,
            '  "pytest",\n  "PyYAML>=6",\n]',
        ),
        (
            "pyproject.toml",
            '[tool.poetry.dependencies]\npython = "^3.9"\n\n[build-system]\n',
            False,
            '\nPyYAML = ">=6"\n',
        ),
        (
            "pyproject.toml",
            '[tool.poetry.group.dev.dependencies]\npytest = "*"\n',
            True,
            '\nPyYAML = ">=6"',
        ),
        (
            "setup.cfg",
            "[options]\ninstall_requires =\n    click\n    requests\n\n[x]\n",
            False,
            "    requests\n    PyYAML>=6\n",
        ),
        (
            "setup.cfg",
            "[options.extras_require]\ntest =\n  pytest\n",
            True,
            "  pytest\n  PyYAML>=6\n",
        ),
        (
            "setup.py",
            "from setuptools import setup\nsetup(install_requires=['click'])\n",
            False,
            "['click', 'PyYAML>=6']",
        ),
        (
            "Pipfile",
            '[packages]\nclick = "*"\n\n[dev-packages]\npytest = "*"\n',
            False,
            'click = "*"\nPyYAML = ">=6"\n',
        ),
        (
            "Pipfile",
            '[packages]\nclick = "*"\n\n[dev-packages]\npytest = "*"\n',
            True,
            'pytest = "*"\nPyYAML = ">=6"',
        ),
        ("requirements.txt", "click\nrequests\n", False, "click\nPyYAML>=6\nrequests\n"),
        ("requirements.txt", "requests\nclick", False, "requests\nclick\nPyYAML>=6\n"),
        (
            "requirements-dev.txt",
            "-r requirements.txt\npytest\n",
            True,
            "-r requirements.txt\npytest\nPyYAML>=6\n",
        ),
    ],
)
def test_a_requirement_is_added_where_the_project_declares_its_own(
    path: str, text: str, line: str, *, tests: bool
) -> None:
    placed = place_requirement({path: text}, "PyYAML>=6", tests=tests)
    assert placed is not None
    assert line in placed.content
    before, after = declared_in(path, text), declared_in(path, placed.content)
    assert after.keys() - before.keys() == {"pyyaml"}
    assert before.keys() <= after.keys()
    if path.endswith(".toml"):
        tomllib.loads(placed.content)
    gone = [kept for kept in text.splitlines() if kept.strip() and kept not in placed.content]
    assert len(gone) <= 1, "one line changes at most"


def test_line_ends_of_the_file_are_kept() -> None:
    placed = place_requirement(
        {"pyproject.toml": PROJECT.replace("\n", "\r\n")}, "PyYAML", tests=False
    )
    assert placed is not None
    assert "\n" not in placed.content.replace("\r\n", "")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[project]\nname = "a"\ndynamic = ["dependencies"]\n'),
        ("pyproject.toml", "[project\n"),
        (
            "setup.py",
            "from setuptools import setup\nsetup(install_requires=read('requirements.txt'))\n",
        ),
        ("setup.py", "from setuptools import setup\nsetup(install_requires=[*BASE, 'click'])\n"),
        ("requirements.txt", "click==8 --hash=sha256:aa\n"),
        ("poetry.lock", '[[package]]\nname = "click"\n'),
        ("notes.txt", "click\n"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(path: str, text: str) -> None:
    assert place_requirement({path: text}, "PyYAML", tests=False) is None


def test_a_well_known_module_is_proposed_under_its_distribution() -> None:
    found = decide("yaml", "shop/load.py", {"pyproject.toml": PROJECT})
    assert (found.distribution, found.known_from) == ("PyYAML", "a well-known module")
    assert found.placed is not None
    assert found.placed.path == "pyproject.toml"
    assert "MetaAgent did not" in found.sentence
    assert "protected (build)" in found.sentence
    assert "it was not looked up in an index" in found.sentence


def test_what_only_tests_import_goes_to_the_requirements_of_tests() -> None:
    texts = {"pyproject.toml": PROJECT, "requirements-test.txt": "pytest\n"}
    found = decide("freezegun", "tests/test_load.py", texts)
    assert found.placed is not None
    assert found.placed.path == "requirements-test.txt"


def test_an_unknown_module_is_never_named_after_itself() -> None:
    found = decide("fastjsonx", "shop/load.py", {"pyproject.toml": PROJECT})
    assert found == MissingRequirement(module="fastjsonx")
    assert "an unrelated package" in found.sentence


def test_an_unknown_module_is_named_when_the_repository_names_it_elsewhere() -> None:
    texts = {
        "pyproject.toml": PROJECT,
        "poetry.lock": '[[package]]\nname = "fastjsonx"\nversion = "1.0"\n',
    }
    found = decide("fastjsonx.fast", "shop/load.py", texts)
    assert found.distribution == "fastjsonx"
    assert found.known_from == "poetry.lock names it"
    assert found.placed is not None


def test_a_version_declared_for_tests_is_taken_over() -> None:
    texts = {"pyproject.toml": PROJECT, "requirements-dev.txt": "pytest\npyyaml>=6,<7\n"}
    found = decide("yaml", "shop/load.py", texts)
    assert found.placed is not None
    assert '"pyyaml>=6,<7"' in found.placed.content


def test_what_is_declared_is_not_missing_from_the_declaration() -> None:
    found = decide("requests", "shop/load.py", {"pyproject.toml": PROJECT})
    assert found.declared_by == "pyproject.toml"
    assert "although pyproject.toml declares requests" in found.sentence


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("message", "files", "module"),
    [
        ("No module named 'yaml'", {"shop/load.py": "", "pyproject.toml": PROJECT}, "yaml"),
        ("No module named 'yaml'", {"pyproject.toml": PROJECT, "uv.lock": "#" * (2 << 20)}, "yaml"),
        (
            "No module named 'yaml.nodes'; 'yaml' is not a package",
            {"pyproject.toml": PROJECT},
            "yaml.nodes",
        ),
        ("No module named 'shop'", {"shop/load.py": "", "pyproject.toml": PROJECT}, None),
        ("No module named 'shop.x'", {"src/shop/load.py": "", "pyproject.toml": PROJECT}, None),
        ("No module named 'sqlite3'", {"pyproject.toml": PROJECT}, None),
        ("assert 1 == 2", {"pyproject.toml": PROJECT}, None),
        ("No module named 'a b; rm'", {"pyproject.toml": PROJECT}, None),
    ],
)
async def test_the_missing_module_is_read_from_the_failure(
    message: str, files: dict[str, str], module: str | None
) -> None:
    report = a_report(
        failures=(a_failure(error="ModuleNotFoundError", error_message=message, frames=()),)
    )
    workspace = FakeWorkspace(files)
    found = await missing_requirement(report, workspace)
    assert (found.module if found else None) == module
    assert await workspace.changes() == ()


def test_only_files_that_declare_are_read() -> None:
    declaring = [
        "pyproject.toml",
        "requirements/dev.txt",
        "a/requirements.in",
        "Pipfile.lock",
        "constraints-3.9.txt",
    ]
    assert [
        path
        for path in [*declaring, "a/b/c/setup.py", "x.txt", "src/setup_it.py"]
        if is_declaring(path)
    ] == declaring


@pytest.mark.parametrize(
    "text",
    [
        "\0",
        "#install_requires=[\n#,",
        "[project]\ndependencies=[\n" + "#\n" * 20_000,
        "-" * 50_000 + "1",
        "[" * 10_000,
        "a" * 500_000,
        "{",
        "= = =",
        "[a]\nb" + " " * 50_000 + "c",
        "\ud800".encode("utf-8", "replace").decode(),
    ],
)
@pytest.mark.parametrize(
    "path",
    ["pyproject.toml", "setup.cfg", "setup.py", "Pipfile.lock", "poetry.lock", "requirements.txt"],
)
def test_hostile_files_declare_nothing_and_break_nothing(path: str, text: str) -> None:
    assert isinstance(declared_in(path, text), dict)
    place_requirement({path: text}, "PyYAML", tests=False)
