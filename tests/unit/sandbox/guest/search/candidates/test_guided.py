"""Guided candidates: cheapest first, in editable files only, never in dangerous calls."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sandbox.guest.search.candidates.generator import CandidatePatch
from sandbox.guest.search.candidates.guided import EditableFiles, guided_candidates
from sandbox.guest.search.candidates.lookups import Lookups
from sandbox.guest.search.candidates.templates.guided import load_guided_templates
from sandbox.guest.search.session.failures import FailureRecord

TEMPLATES = load_guided_templates()


def editable(path: str) -> bool:
    return not Path(path).name.startswith("test_")


def candidates(
    folder: Path, files: dict[str, str], *failures: FailureRecord
) -> list[CandidatePatch]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    checkout = EditableFiles(str(folder), editable)
    return list(guided_candidates(failures, checkout, templates=TEMPLATES, shifts={}, seconds=20.0))


def first_texts(found: list[CandidatePatch], count: int = 4) -> list[str]:
    return [c.source.render(c.edits).decode() for c in islice(found, count)]


def test_a_renamed_function_of_the_checkout_is_imported_from_where_it_is_now(
    tmp_path: Path,
) -> None:
    files = {
        "shop/__init__.py": "",
        "shop/money.py": "def as_cents(value):\n    return value * 100\n",
        "shop/bill.py": "from shop.prices import as_cents\n\n\ndef total(a):\n    return as_cents(a)\n",
        "shop/prices.py": "def euros(value):\n    return value\n",
    }
    failure = FailureRecord(
        "ImportError",
        "cannot import name 'as_cents' from 'shop.prices'",
        (("tests/test_bill.py", 1, "<module>"), ("shop/bill.py", 1, "<module>")),
        {"module": "shop.prices", "name": "as_cents", "path": "shop/prices.py"},
    )
    found = candidates(tmp_path, files, failure)
    texts = first_texts(found)
    assert files["shop/bill.py"].replace("shop.prices", "shop.money") in texts
    assert any(
        c.source.path == "shop/prices.py" and "from .money import as_cents" in c.description
        for c in found
    )
    assert all(c.unit is None for c in found[:2])


def test_a_test_that_asks_for_a_renamed_name_is_served_by_the_module_not_by_the_test(
    tmp_path: Path,
) -> None:
    files = {
        "shop.py": (
            "def total_price(a):\n    return a\n\n\ndef twice(a):\n    return total_price(a) * 2\n"
        )
    }
    failure = FailureRecord(
        "ImportError",
        "cannot import name 'price_total' from 'shop'",
        (("test_shop.py", 1, "<module>"),),
        {"module": "shop", "name": "price_total", "path": "shop.py"},
    )
    found = candidates(
        tmp_path, {**files, "test_shop.py": "from shop import price_total\n"}, failure
    )
    assert found
    assert {c.source.path for c in found} == {"shop.py"}
    assert files["shop.py"].replace("total_price", "price_total") in first_texts(found)


def test_an_edit_inside_a_function_names_the_function_and_one_with_an_import_does_not(
    tmp_path: Path,
) -> None:
    text = "def f(count):\n    return cuont + 1\n\n\ndef g(p):\n    return Path(p)\n"
    inside = FailureRecord(
        "NameError", "name 'cuont' is not defined", (("m.py", 2, "f"),), {"name": "cuont"}
    )
    outside = FailureRecord(
        "NameError", "name 'Path' is not defined", (("m.py", 6, "g"),), {"name": "Path"}
    )
    found = candidates(tmp_path, {"m.py": text}, inside, outside)
    by_text = {c.source.render(c.edits).decode(): c for c in found}
    one = by_text[text.replace("cuont", "count")]
    assert one.unit is not None
    assert one.unit.qualified_name == "f"
    assert by_text["from pathlib import Path\n" + text].unit is None
    assert found == sorted(found, key=lambda c: c.priority)


def test_equal_candidates_of_many_failures_come_once(tmp_path: Path) -> None:
    text = "def f(count):\n    return cuont + 1\n"
    failures = [
        FailureRecord(
            "NameError",
            "name 'cuont' is not defined",
            (("t.py", n, "t"), ("m.py", 2, "f")),
            {"name": "cuont"},
        )
        for n in range(5)
    ]
    found = candidates(tmp_path, {"m.py": text}, *failures)
    assert len({c.edits for c in found}) == len(found)


@pytest.mark.parametrize(
    "call",
    [
        "os.remove(pth)",
        "shutil.rmtree(pth)",
        "open(pth, 'w')",
        "subprocess.run(pth)",
        "os.system(pth)",
    ],
)
def test_arguments_of_calls_that_destroy_are_never_changed(call: str, tmp_path: Path) -> None:
    text = f"import os\nimport shutil\nimport subprocess\n\n\ndef f(path):\n    {call}\n"
    failure = FailureRecord(
        "NameError", "name 'pth' is not defined", (("m.py", 7, "f"),), {"name": "pth"}
    )
    found = candidates(tmp_path, {"m.py": text}, failure)
    assert [
        c.description for c in found if f"    {call}" not in c.source.render(c.edits).decode()
    ] == []


def test_nothing_is_made_outside_the_checkout_or_in_tests(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("def f():\n    return cuont\n")
    frames = (("/usr/lib/python3/x.py", 2, "f"), ("../secret.py", 2, "f"), ("test_m.py", 2, "f"))
    failure = FailureRecord("NameError", "name 'cuont' is not defined", frames, {"name": "cuont"})
    inside = tmp_path / "checkout"
    inside.mkdir()
    assert candidates(inside, {"test_m.py": "def f():\n    return cuont\n"}, failure) == []


def test_the_exception_behind_the_exception_guides_too(tmp_path: Path) -> None:
    text = "def f(rates, kind):\n    return rates['bok']\n"
    earlier = FailureRecord(
        "KeyError", "'bok'", (("m.py", 2, "f"),), {"key": "'bok'", "keys": ["'book'"], "bases": []}
    )
    failure = FailureRecord(
        "ValueError", "no rate", (("m.py", 2, "f"),), {"earlier": [list(earlier)]}
    )
    assert text.replace("bok", "book") in first_texts(
        candidates(tmp_path, {"m.py": text}, failure), 2
    )


def test_a_keyword_the_library_renamed_follows_its_signature(tmp_path: Path) -> None:
    text = "import table\n\n\ndef f(rows):\n    return table.write(rows, line_terminator=';')\n"
    callee: dict[str, Any] = {
    "name": "write", "qualname": "write", "parameters": ["rows", "lineterminator"],
    "keyword_only": [], "file": "/usr/lib/python3/table.py", "line": 1,
}  # fmt: skip
    failure = FailureRecord(
        "TypeError",
        "write() got an unexpected keyword argument 'line_terminator'",
        (("m.py", 5, "f"),),
        {"callee": callee, "bases": []},
    )
    found = candidates(tmp_path, {"m.py": text}, failure)
    assert first_texts(found, 1) == [text.replace("line_terminator", "lineterminator")]


def test_hostile_files_and_lines_end_nothing(tmp_path: Path) -> None:
    files = {
        "deep.py": "x = " + "(" * 3000,
        "odd.py": "def f():\r    pass\n",
        "empty.py": "",
        "short.py": "x = 1\n",
    }
    failures = [
        FailureRecord(
            kind,
            "'NoneType' object has no attribute 'x'",
            ((path, line, "f"),),
            {"name": "x", "bases": []},
        )
        for kind in (
            "NameError",
            "AttributeError",
            "TypeError",
            "KeyError",
            "RecursionError",
            "ImportError",
        )
        for path in files
        for line in (0, 1, 99)
    ]
    assert isinstance(candidates(tmp_path, files, *failures[:12]), list)


def test_sources_of_packages_are_read_and_never_imported(tmp_path: Path) -> None:
    package = tmp_path / "lib"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    (package / "_inner.py").write_text("class Moved:\n    pass\n")
    (package / "public.py").write_text("class Moved:\n    pass\n\n\nOLD: int = 1\n")
    lookups = Lookups(str(tmp_path), seconds=20.0)
    assert lookups.exists("lib.public")
    assert not lookups.exists("lib.gone")
    assert lookups.homes_in_package("Moved", "lib") == ["lib.public", "lib._inner"]
    assert lookups.defined_names("lib.public") == ["Moved", "OLD"]
    assert lookups.homes_in_checkout("OLD") == ["lib.public"]
    assert lookups.submodules("lib") == ["_inner", "public"]
