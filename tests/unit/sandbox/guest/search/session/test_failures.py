"""Exceptions are told as plain data, without running anything of the repository."""

import gc
import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sandbox.guest.search.session.failures import FailureRecord, describe_exception

CODE = """
import collections


class Shop:
    limit = 3

    def __init__(self):
        self.size = 1
        self.owner = None

    def __getattr__(self, name):
        raise AttributeError(f"'Shop' object has no attribute '{name}'")

    def area(self, width, *, height=2):
        return self.sise

    @property
    def loud(self):
        raise SystemExit


def attribute():
    return Shop().area(1)


def module():
    return collections.Mapping


def name():
    total = 1
    return totla + total


def keyword():
    return Shop().area(1, hieght=3)


def missing():
    return Shop().area()


def abstract():
    import abc

    class Hollow(abc.ABC):
        @abc.abstractmethod
        def fill(self): ...

    return Hollow()


def handed(call):
    return call(1, 2, 3)


def by_name():
    return handed(Shop().area)


def made():
    return Shop(1)


def key():
    rates = {"book": 7, "other": 19}
    return rates["bok"]


def none():
    shop = Shop()
    thing = None
    return thing.strip()


def imported():
    from collections import Mapping


def behind():
    try:
        key()
    except KeyError as error:
        raise ValueError("no rate") from error


def uncalled():
    shop = Shop()
    assert shop.area == 4


def shown():
    raise AssertionError(f"assert {Shop().area} == 4")


class Odd(Exception):
    def __str__(self):
        raise SystemExit("ran")


def odd():
    raise Odd("told")
"""


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[ModuleType]:
    file = tmp_path / "pkg" / "shop.py"
    file.parent.mkdir()
    file.write_text(CODE)
    spec = importlib.util.spec_from_file_location("sample_shop_for_failures", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def failed(module: ModuleType, name: str, root: Path) -> FailureRecord:
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever the sample fails with
        getattr(module, name)()
    failure = describe_exception(caught.value, caught.tb, str(root))
    return FailureRecord.from_json(json.loads(json.dumps(failure)))


def test_frames_carry_paths_of_the_checkout_and_the_innermost_is_last(
    sample: ModuleType, tmp_path: Path
) -> None:
    failure = failed(sample, "key", tmp_path)
    assert failure.kind == "KeyError"
    assert failure.frames[-1][0] == "pkg/shop.py"
    assert failure.frames[-1][2] == "key"
    assert failure.frames[0][0].startswith("/")


def test_a_missing_attribute_comes_with_what_the_object_has(
    sample: ModuleType, tmp_path: Path
) -> None:
    extra = failed(sample, "attribute", tmp_path).extra
    owner: dict[str, Any] = extra["owner"]
    assert extra["name"] == "sise"
    assert owner["type"] == "Shop"
    assert owner["file"] == "pkg/shop.py"
    assert {"size", "limit", "area", "loud"} <= set(owner["names"])


def test_a_missing_attribute_of_a_module_comes_with_its_names(
    sample: ModuleType, tmp_path: Path
) -> None:
    owner = failed(sample, "module", tmp_path).extra["owner"]
    assert (owner["kind"], owner["module"]) == ("module", "collections")
    assert "OrderedDict" in owner["names"]


def test_a_missing_name_is_told(sample: ModuleType, tmp_path: Path) -> None:
    failure = failed(sample, "name", tmp_path)
    assert failure.extra["name"] == "totla"
    assert any(facts["types"].get("total") == "int" for facts in failure.extra["locals"].values())


@pytest.mark.parametrize("name", ["keyword", "missing"])
def test_a_refused_call_comes_with_the_parameters_of_what_was_called(
    name: str, sample: ModuleType, tmp_path: Path
) -> None:
    callee = failed(sample, name, tmp_path).extra["callee"]
    assert callee["parameters"] == ["self", "width"]
    assert callee["keyword_only"] == ["height"]
    assert callee["file"] == "pkg/shop.py"


def test_a_refused_construction_comes_with_the_parameters_of_init(
    sample: ModuleType, tmp_path: Path
) -> None:
    assert failed(sample, "made", tmp_path).extra["callee"]["parameters"] == ["self"]


def test_a_missing_key_comes_with_the_keys_there_are(sample: ModuleType, tmp_path: Path) -> None:
    extra = failed(sample, "key", tmp_path).extra
    assert extra["key"] == "'bok'"
    assert extra["keys"] == ["'book'", "'other'"]


def test_what_was_none_is_told(sample: ModuleType, tmp_path: Path) -> None:
    facts = failed(sample, "none", tmp_path).extra["locals"]
    assert any("thing" in of_frame["none"] for of_frame in facts.values())


def test_a_failed_import_tells_module_and_name(sample: ModuleType, tmp_path: Path) -> None:
    extra = failed(sample, "imported", tmp_path).extra
    assert (extra["module"], extra["name"]) == ("collections", "Mapping")
    assert "Exception" in extra["bases"]


def test_the_exception_behind_the_exception_is_told_too(sample: ModuleType, tmp_path: Path) -> None:
    failure = failed(sample, "behind", tmp_path)
    assert failure.kind == "ValueError"
    assert FailureRecord.from_json(failure.extra["earlier"][0]).kind == "KeyError"


def test_code_of_the_repository_is_never_asked_for_words(
    sample: ModuleType, tmp_path: Path
) -> None:
    failure = failed(sample, "odd", tmp_path)
    assert (failure.kind, failure.message) == ("Odd", "told")


class CollectError(Exception):
    """Named like pytest's own."""


def test_what_pytest_wraps_around_an_import_is_taken_off(
    sample: ModuleType, tmp_path: Path
) -> None:
    def collect() -> None:
        try:
            sample.imported()
        except ImportError as error:
            raise CollectError("ImportError while importing test module") from error

    with pytest.raises(CollectError) as caught:
        collect()
    failure = describe_exception(caught.value, caught.tb, str(tmp_path))
    assert failure.kind == "ImportError"
    assert failure.frames[-1][0] == "pkg/shop.py"


def test_files_of_what_a_message_shows_are_told(sample: ModuleType, tmp_path: Path) -> None:
    assert failed(sample, "shown", tmp_path).extra["files"] == ["pkg/shop.py"]


def test_functions_that_an_assertion_names_without_calling_them_are_told(
    sample: ModuleType, tmp_path: Path
) -> None:
    told = failed(sample, "uncalled", tmp_path).extra["uncalled"]
    assert [(function["qualname"], function["file"]) for function in told] == [
        ("Shop.area", "pkg/shop.py")
    ]


def test_a_class_that_is_still_abstract_comes_with_its_names(
    sample: ModuleType, tmp_path: Path
) -> None:
    owner = failed(sample, "abstract", tmp_path).extra["owner"]
    assert (owner["type"], owner["file"]) == ("Hollow", "pkg/shop.py")
    assert "fill" in owner["names"]


def test_what_was_called_is_found_among_objects_that_the_collector_has_frozen(
    sample: ModuleType, tmp_path: Path
) -> None:
    gc.freeze()
    try:
        callee = failed(sample, "by_name", tmp_path).extra["callee"]
    finally:
        gc.unfreeze()
    assert callee["qualname"] == "Shop.area"
