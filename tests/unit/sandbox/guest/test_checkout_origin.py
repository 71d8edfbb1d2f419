"""The tests import the checkout's own modules, or the other one is named with its folder."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.guest import checkout_origin
from sandbox.guest.checkout_origin import find_shadowed

TEST = "import json\nfrom mine.parts import one\n"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def shadowed(
    folder: Path, files: dict[str, str], *roots: str, command: str = "pytest"
) -> tuple[str, str] | None:
    write(folder / "site", {"mine/__init__.py": "", "tests/__init__.py": "", "other.py": ""})
    write(folder / "repo", files)
    return find_shadowed(
        str(folder / "repo"), command, roots or ("src", "."), (str(folder / "site"),)
    )


def test_an_installed_package_of_the_same_name_is_named_with_its_folder(tmp_path: Path) -> None:
    files = {"src/mine/__init__.py": "", "tests/test_mine.py": TEST}
    assert shadowed(tmp_path, files) == ("mine", str(tmp_path / "site"))
    command = "python -m pytest"  # puts the top first, but not `src`
    assert shadowed(tmp_path, files, command=command) == ("mine", str(tmp_path / "site"))


SPACE_TEST = "from space.inner import mine, free\n"


def test_a_part_of_a_namespace_package_is_named_if_another_distribution_has_it_too(
    tmp_path: Path,
) -> None:
    write(tmp_path / "site", {"space/inner/mine/__init__.py": "", "space/inner/other.py": ""})
    files = {"src/space/inner/mine/__init__.py": "", "tests/test_mine.py": SPACE_TEST}
    assert shadowed(tmp_path, files) == ("space.inner.mine", str(tmp_path / "site"))
    write(tmp_path / "repo", {"src/conftest.py": ""})
    assert shadowed(tmp_path, {}) is None, "the root comes first"


def test_other_parts_of_a_namespace_package_shadow_nothing(tmp_path: Path) -> None:
    write(tmp_path / "site", {"space/inner/other.py": "", "space/inner/free/__init__.py": ""})
    files = {
        "src/space/inner/mine/__init__.py": "",
        "src/space/inner/free/data.txt": "",
        "tests/test_mine.py": SPACE_TEST,
    }
    assert shadowed(tmp_path, files) is None


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"mine/__init__.py": "", "tests/test_mine.py": TEST}, "python -m pytest"),
        ({"mine.py": "", "test_mine.py": TEST}, "pytest"),
        ({"mine.py": "", "tests/__init__.py": "", "tests/test_mine.py": TEST}, "pytest"),
        ({"src/mine.py": "", "src/conftest.py": "", "tests/test_mine.py": TEST}, "pytest"),
        ({"src/mine.py": "", "tests/test_mine.py": TEST}, "PYTHONPATH= pytest"),
        (
            {
                "src/mine.py": "",
                "tests/test_mine.py": TEST,
                "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = "src"\n',
            },
            "pytest",
        ),
        ({"src/mine.py": "", "tests/test_other.py": "import other\n"}, "pytest"),
        ({"src/mine.py": "", "tests/test_other.py": "from . import mine\n"}, "pytest"),
        ({"src/mine/part.py": "", "tests/test_mine.py": TEST}, "pytest"),
        ({"tests/__init__.py": "", "tests/test_mine.py": "import tests\n"}, "pytest"),
        ({"src/mine.py": "", "tests/test_mine.py": "import mine ("}, "pytest"),
    ],
    ids=[
        *("top first", "beside the test", "above a package of tests", "conftest", "variable"),
        *("option", "another module", "relative", "namespace", "tests", "broken test"),
    ],
)
def test_what_is_searched_first_or_not_imported_is_no_matter(
    tmp_path: Path, files: dict[str, str], command: str
) -> None:
    assert shadowed(tmp_path, files, command=command) is None


def test_the_program_tells_the_version_of_python_first(tmp_path: Path) -> None:
    write(tmp_path, {"src/mine.py": "", "tests/test_mine.py": TEST})
    program = [sys.executable, "-I", "-S", checkout_origin.__file__, str(tmp_path), "pytest", "src"]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    version, found = done.stdout.splitlines()
    assert version == "Python " + ".".join(map(str, sys.version_info[:3]))
    assert json.loads(found) == []
