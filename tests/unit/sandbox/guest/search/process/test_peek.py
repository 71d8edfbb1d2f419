"""Objects of the repository are looked at without trusting them."""

from typing import Any

from typing_extensions import override

from sandbox.guest.search.locate.located import _find_module
from sandbox.guest.search.process.peek import is_a, peek
from sandbox.guest.search.session.failures.inert import find_function
from sandbox.guest.search.session.failures.owners import describe_owner


class OutOfContext:
    """A proxy as web frameworks have them: outside of a request every attribute raises."""

    @override
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("Working outside of request context.")


class Lying:
    """It says that it is a class."""

    @override
    def __getattribute__(self, name: str) -> Any:
        return type if name == "__class__" else object.__getattribute__(self, name)


def test_the_real_type_counts() -> None:
    assert not is_a(OutOfContext(), type)
    assert isinstance(Lying(), type)
    assert not is_a(Lying(), type)
    assert is_a(3, (str, int))


def test_an_attribute_that_raises_is_the_default() -> None:
    assert peek(OutOfContext(), "name", 1) == 1
    assert peek(3, "real") == 3
    assert peek(3, "unreal") is None


def test_what_the_search_says_of_objects_needs_no_answer_of_theirs() -> None:
    described = describe_owner(OutOfContext(), "/nowhere")
    assert (described["type"], described["kind"]) == ("OutOfContext", "object")
    assert _find_module(OutOfContext()).__name__ == __name__
    assert find_function(OutOfContext()) is None
