"""What tests import is installed where the repository declares it anywhere, and never guessed."""

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.relevant import relevant_files
from sandbox.types import JobHints

PROJECT = '[project]\nname = "mine"\ndependencies = ["attrs"]\n'
TEST = "import yaml\nimport unheard_of\nfrom mine import one\n"


def requirements(files: dict[str, str], workflow: str = "") -> set[str]:
    contents = {name: text.encode() for name, text in files.items()}
    if workflow:
        contents[".github/workflows/ci.yml"] = workflow.encode()
    read = {name: contents[name] for name in relevant_files(contents.keys())}
    hints = JobHints() if workflow else JobHints(command="python -m pytest")
    return set(plan_recipe(hints, contents.keys(), read).python.requirements)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", f'{PROJECT}[project.optional-dependencies]\nyaml = ["pyyaml>=5", "x"]'),
        ("pyproject.toml", f'{PROJECT}[dependency-groups]\nall-of-it = ["pyyaml>=5", "x"]'),
        ("pyproject.toml", f'{PROJECT}[tool.hatch.envs.types]\ndependencies = ["pyyaml>=5", "x"]'),
        ("tox.ini", "[testenv:types]\ndeps =\n    py311: pyyaml>=5\n    x\n"),
        ("tox.toml", '[env.types]\ndeps = ["pyyaml>=5", "x"]\n'),
        ("noxfile.py", "def types(session):\n    session.install('pyyaml>=5', 'x')\n"),
        ("requirements/docs.txt", "x\npyyaml>=5  # why\n"),
    ],
    ids=["extra", "group", "hatch", "tox.ini", "tox.toml", "nox", "file"],
)
def test_what_a_test_imports_is_found_wherever_it_is_declared(name: str, text: str) -> None:
    files = {"pyproject.toml": PROJECT, "tests/test_one.py": TEST, name: text}
    assert "pyyaml>=5" in requirements(files)
    assert not requirements(files) & {"x", "unheard_of", "unheard-of"}


def test_a_conftest_and_a_test_that_skips_itself_count_too() -> None:
    extras = '[project.optional-dependencies]\nmore = ["trio", "Pillow", "docker"]\n'
    files = {
        "pyproject.toml": PROJECT + extras,
        "tests/conftest.py": "import trio.testing\n",
        "tests/test_pictures.py": "import pytest\nimage = pytest.importorskip('PIL.Image')\n",
    }
    assert {"trio", "Pillow"} <= requirements(files)
    assert "docker" not in requirements(files)


def test_declared_plugins_of_pytest_are_installed_though_nothing_imports_them() -> None:
    tox = "[testenv]\ndeps =\n    pytest-mock\n    types-mock\n"
    files = {"pyproject.toml": PROJECT, "tox.ini": tox, "tests/test_one.py": "import mock"}
    assert "pytest-mock" in requirements(files)
    assert "types-mock" not in requirements(files)


def test_a_job_that_says_what_it_installs_gets_no_more() -> None:
    workflow = "jobs: {a: {steps: [{run: pip install attrs}, {run: pytest -q}]}}"
    files = {"requirements/docs.txt": "pyyaml\n", "tests/test_one.py": TEST}
    assert "pyyaml" not in requirements(files, workflow)


def test_a_test_that_does_not_parse_is_no_obstacle() -> None:
    files = {"requirements/docs.txt": "pyyaml\n", "tests/test_one.py": "import yaml ("}
    assert "pyyaml" not in requirements(files)


def test_a_limited_amount_of_tests_is_parsed_conftests_first() -> None:
    large = "#" * 200_000 + "\n"
    extras = '[project.optional-dependencies]\nmore = ["trio", "pyyaml"]\n'
    files = {
        "pyproject.toml": PROJECT + extras,
        "tests/conftest.py": "import trio\n",
        **{f"tests/test_{number}.py": large for number in range(10)},
        "tests/test_last.py": "import yaml\n" + large,
    }
    assert {"trio", "pyyaml"} & requirements(files) == {"trio"}
