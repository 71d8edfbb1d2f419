"""From settings to what a mission needs."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from bot.domain.patch import Rung
from bot.domain.request import MissionRequest
from bot.lessons.sqlite_store import SqliteLessons
from bot.ports import Progress
from bot.progress import SilentProgress
from bot.settings import Settings
from bot.wiring.line import build_backend, build_fixers, build_line, prepare_image

Make = Callable[..., Settings]


@asynccontextmanager
async def silence(_: MissionRequest) -> AsyncIterator[Progress]:
    yield SilentProgress()


def rungs(settings: Settings) -> list[Rung]:
    return [fixer.rung for fixer in build_fixers(settings, SqliteLessons(settings.data_dir / "lessons.sqlite"))]


def test_every_rung_is_there_in_a_container(settings: Make) -> None:
    assert rungs(settings(sandbox__backend="docker")) == [Rung.TOOLS, Rung.SEARCH]


def test_mutated_code_runs_on_the_host_only_when_it_is_declared_disposable(settings: Make) -> None:
    assert rungs(settings()) == [Rung.TOOLS]
    assert rungs(settings(sandbox__disposable_host="true")) == [Rung.TOOLS, Rung.SEARCH]


def test_the_line_carries_the_settings(settings: Make) -> None:
    given = settings(webhook_secret="hunter-two", limits__iterations="2", app_slug="mender")
    line = build_line(given, silence)
    assert (line.limits.iterations, line.app_slug, line.secrets) == (2, "mender", ("hunter-two",))
    assert line.open_progress is silence


def test_building_writes_nothing(settings: Make) -> None:
    given = settings()
    build_line(given, silence)
    assert not given.data_dir.exists()


@pytest.mark.parametrize("name", ["local", "docker"])
def test_the_backend_is_the_one_that_was_named(settings: Make, name: str) -> None:
    assert build_backend(settings(sandbox__backend=name)).name == name


def test_the_local_toolchain_is_this_host(settings: Make) -> None:
    image, kept = prepare_image(settings())
    assert (image, kept.removed) == ("local", 0)
