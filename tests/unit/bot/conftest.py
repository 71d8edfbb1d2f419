"""What tests of entry modules share: the process's logging is put back, and settings read nothing of this machine."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.settings import Settings, load


@pytest.fixture(autouse=True)
def loggers_as_they_were() -> Iterator[None]:
    """Logging is the process's own: what a test sets up is taken back."""
    loggers = [logging.getLogger(name) for name in ("", "bot", "metaagent", "sandbox")]
    before = [(logger, logger.level, logger.handlers[:]) for logger in loggers]
    yield
    for logger, level, handlers in before:
        logger.setLevel(level)
        logger.handlers[:] = handlers


@pytest.fixture
def settings(tmp_path: Path) -> Callable[..., Settings]:
    """Settings by key, with data in a folder of the test and no Docker daemon asked."""

    def made(**options: str) -> Settings:
        plain = {
            "data_dir": str(tmp_path / "data"),
            "sandbox.backend": "local",
            "sandbox.local_uid": "65532",
        }
        named = {name.replace("__", "."): value for name, value in options.items()}
        return load(plain | named, environment={})

    return made
