import datetime
import logging
import unittest

import pytest
import pytest_asyncio
from freezegun import freeze_time
from hypothesis import given, strategies

from acme import shop
from acme.shop import fits


@pytest_asyncio.fixture
async def three():
    yield [1, 2, 3]


async def test_awaited(three):
    assert fits(three)


@pytest.mark.asyncio(loop_scope="module")
async def test_awaited_elsewhere(three):
    assert not fits([*three, 4])


@given(strategies.lists(strategies.integers(), max_size=6))
def test_invented(items):
    assert fits(items) is (len(items) <= 3)


@given(strategies.lists(strategies.integers(), max_size=1))
def test_invented_and_fine(items):
    assert fits(items)


@freeze_time("2020-05-03")
def test_on_a_day():
    assert fits([0] * datetime.date.today().day)


@freeze_time("2020-05-04")
class TestOnAnotherDay:
    def test_four(self):
        assert not fits([0] * datetime.date.today().day)


@pytest.fixture(params=[1, 3], ids=["one", "three"], scope="module")
def count(request):
    return request.param


@pytest.mark.parametrize("item", ["a::b", "x\\ny", "", "é [1]"])
def test_named_oddly(count, item):
    assert fits([item] * count)


@pytest.mark.flaky(reruns=2)
def test_with_the_fixtures_of_pytest(tmp_path, monkeypatch, capsys, caplog, mocker, worker_id):
    monkeypatch.setenv("SIZE", "3")
    (tmp_path / "cart").write_text("x" * 3)
    stub = mocker.patch.object(shop, "limit_of_day", create=True, return_value=3)
    with caplog.at_level(logging.INFO):
        logging.getLogger("shop").info("%s", fits((tmp_path / "cart").read_text(), shop.limit_of_day()))
    print(worker_id)
    stub.assert_called_once()
    assert capsys.readouterr().out
    assert caplog.messages == ["True"]


@pytest.mark.xdist_group("quiet")
@pytest.mark.timeout(30)
def test_with_marks_of_plugins():
    assert not fits([1, 2, 3, 4])


class Cart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.three = [1, 2, 3]

    def test_three(self):
        self.assertTrue(fits(self.three))

    def test_sizes(self):
        for size in (0, 1, 3):
            with self.subTest(size=size):
                self.assertTrue(fits([0] * size))


class AwaitedCart(unittest.IsolatedAsyncioTestCase):
    async def test_three(self):
        self.assertTrue(fits([1, 2, 3]))
