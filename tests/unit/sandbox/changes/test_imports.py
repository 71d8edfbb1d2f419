"""Which changes of a test's imports are proved to be harmless. Harmful ones: tests/hostile."""

import pytest

from sandbox.changes import same_tests
from sandbox.changes.imports import same_but_imports

BODY = "\n\ndef test_a():\n    assert b() == a.x\n"
SAME = {
    "sorted": (f"from c import b\nimport a{BODY}", f"import a\n\nfrom c import b{BODY}"),
    "sorted with layout": (f"from c import b\nimport a{BODY}", f"import a\nfrom c import b\n\n{BODY}"),
    "joined": (f"from c import b\nfrom c import a{BODY}", f"from c import a, b{BODY}"),
    "split": (f"import a, b{BODY}", f"import a\nimport b{BODY}"),
    "twice": (f"import a\nimport a\nimport b{BODY}", f"import a\nimport b{BODY}"),
    "sorted in a function": (
        "def test_a():\n    import b\n    import a\n    a.x(b)\n",
        "def test_a():\n    import a\n    import b\n    a.x(b)\n",
    ),
    "sorted for types": (
        "if TYPE_CHECKING:\n    import b\n    import a\n",
        "if TYPE_CHECKING:\n    import a\n    import b\n",
    ),
    "unused, of Python": (f"import os\nimport a\nfrom c import b{BODY}", f"import a\nfrom c import b{BODY}"),
    "unused and sorted": (f"import os\nfrom c import b\nimport a{BODY}", f"import a\nfrom c import b{BODY}"),
    "one of two": (
        f"from typing import Any, List\nimport a\n\nx: Any = 1{BODY}",
        f"from typing import Any\nimport a\n\nx: Any = 1{BODY}",
    ),
    "unused with its alias": (f"import json as j\nimport a{BODY}", f"import a{BODY}"),
    "a word in a text": (f"import json\nimport a\nx = 'application/json'{BODY}", f"import a\nx = 'application/json'{BODY}"),
    "a method of its name": (f"import json\nimport a\na.json(){BODY}", f"import a\na.json(){BODY}"),
    "pytest": (f"import pytest\nimport a{BODY}", f"import a{BODY}"),
    "a module that stays imported": (f"import c.d\nimport a\nfrom c.d import b{BODY}", f"import a\nfrom c.d import b{BODY}"),
    "the only ones": ("import os\n", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_a_harmless_change_is_proved(name: str) -> None:
    old, new = SAME[name]
    assert same_but_imports("tests/test_a.py", old, new)
    assert same_tests("tests/test_a.py", old, new)


def test_a_conftest_may_be_sorted_and_loses_nothing() -> None:
    assert same_but_imports("tests/conftest.py", "import b\nimport a\n", "import a\nimport b\n")
    assert not same_but_imports("tests/conftest.py", "import os\nimport a\n", "import a\n")


@pytest.mark.parametrize("text", ["x = (\n", "x = " + "(" * 95 + ")" * 95, "x" + ".a" * 50_000])
def test_text_that_cannot_be_read_proves_nothing(text: str) -> None:
    assert not same_but_imports("tests/test_a.py", text, f"import os\n{text}")
