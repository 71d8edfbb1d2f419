"""Definitions that a failing test calls: a method counts if its class may be meant."""

import pytest

from bot.mission.failures.suspects import from_calls
from tests.builders import a_failure
from tests.fakes.fake_workspace import FakeWorkspace

pytestmark = pytest.mark.anyio
FILES = {
    "shop/store.py": "class Store:\n    def get(self, key):\n        return 1\n\n\ndef find(key):\n    return 2\n"
}


async def lines(source: str) -> list[int]:
    failure = a_failure(error_message="assert 404 == 200", traceback=source, frames=())
    found = await from_calls((failure,), FakeWorkspace(FILES), wide=True)
    return [suspect.line for suspect in found]


async def test_a_method_of_another_class_is_not_pointed_at() -> None:
    assert await lines("    answer = client.get('/')\n    assert answer.status_code == 200\n") == []


@pytest.mark.parametrize(
    "source",
    [
        "    assert Store().get('a') == Store.get(1)\n",
        "    store.get('a')\n",
        "    my_store.get('a')\n",
    ],
)
async def test_a_method_of_a_class_that_the_test_names_is(source: str) -> None:
    assert await lines(source) == [2] or await lines(source) == [1, 2]


async def test_a_function_is_wherever_it_is_called_on_a_module() -> None:
    assert await lines("    shop.find('a')\n") == [6]
