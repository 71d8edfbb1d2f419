"""The self-test of this installation: every module can be imported, every command parses."""

import importlib
import pkgutil
import time
from typing import Any

import bot
import sandbox

_LATE = (
    "bot.__main__",
    "bot.blobs.bucket",
    "bot.llm.providers.pydantic_ai",
    "bot.store.schema.env",
    "sandbox.guest",
)
"""Modules that run a program, need an optional library, or are loaded elsewhere (by Alembic, inside
of the sandbox)."""


def run_self_test() -> tuple[bool, str, dict[str, Any]]:
    """Import every module and return success, a message and data."""
    started = time.monotonic()
    failed: dict[str, str] = {}
    names = [
        found.name
        for package in (bot, sandbox)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not found.name.startswith(_LATE)
    ]
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - a broken module may raise anything
            failed[name] = type(error).__name__
    message = f"{len(names)} modules were imported"
    if failed:
        message = f"{len(failed)} of {len(names)} modules cannot be imported"
    seconds = round(time.monotonic() - started, 3)
    return not failed, message, {"modules": len(names), "failed": failed, "seconds": seconds}
