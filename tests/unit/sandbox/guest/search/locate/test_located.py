"""Which files are read besides those that failing tests run."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from sandbox.guest.search.locate.located import files_named
from sandbox.guest.search.session.baseline import EditablePaths


@pytest.fixture
def wide(tmp_path: Path) -> Iterator[ModuleType]:
    (tmp_path / "located_wide.py").write_text(
        "class Wide:\n    limit = 8\n\n\nTABLE = {}\nMADE = Wide()\n"
    )
    module = ModuleType("located_wide")
    module.__file__ = str(tmp_path / "located_wide.py")
    exec((tmp_path / "located_wide.py").read_text(), module.__dict__)  # noqa: S102 - our own text
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def named(text: str, root: Path, **names: object) -> set[str]:
    space: dict[str, object] = dict(names)
    exec(text, space)  # noqa: S102 - our own text
    return files_named(
        [SimpleNamespace(function=space["test_it"])], [0], EditablePaths(str(root), ())
    )


def test_files_of_classes_objects_and_modules_that_a_failing_test_names(
    wide: ModuleType, tmp_path: Path
) -> None:
    for value in (wide.Wide, wide.MADE, wide):
        assert named("def test_it():\n    return thing", tmp_path, thing=value) == {
            "located_wide.py"
        }


def test_what_is_not_named_or_lies_elsewhere_is_not_read(wide: ModuleType, tmp_path: Path) -> None:
    text = "def test_it():\n    return thing, missing"
    assert named(text, tmp_path, thing=3, other=wide) == set()
    assert named(text, tmp_path / "elsewhere", thing=wide) == set()
