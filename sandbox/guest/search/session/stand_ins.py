"""Replacements for disabled plugins: their marks are registered, their fixtures do nothing."""

from __future__ import annotations

import types
from typing import Any, Callable, Dict, Optional, Sequence

MARKS = (
    "xdist_group", "timeout", "flaky", "benchmark", "random_order", "repeat", "flakefinder",
    "no_cover",
)  # fmt: skip


class Timed:
    """A replacement for `benchmark` that calls the function once."""

    group = name = ""
    disabled = True
    enabled = False
    stats = None

    def __init__(self) -> None:
        self.extra_info: Dict[str, Any] = {}

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Return the function's value."""
        return function(*args, **kwargs)

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Optional[Dict[str, Any]] = None,
        setup: Optional[Callable[[], Any]] = None,
        **_: Any,
    ) -> Any:
        """Call the target once with prepared arguments."""
        made = setup() if setup is not None else None
        args, kwargs = made or (args, kwargs or {})
        return target(*args, **kwargs)


def stand_ins() -> Any:
    """Return a pytest plugin, as a module because some pytest versions need one."""
    import pytest

    def pytest_configure(config: Any) -> None:
        """Register the marks, for projects that use `--strict-markers`."""
        for mark in MARKS:
            config.addinivalue_line("markers", f"{mark}: of a plugin that is off")

    def worker_id() -> str:
        """Return the name of the only worker."""
        return "master"

    def testrun_uid() -> str:
        """Return a constant id."""
        return "metaagent"

    def nothing() -> None:
        """Do nothing."""

    def benchmark() -> Timed:
        """Return the replacement timer."""
        return Timed()

    plugin: Any = types.ModuleType("metaagent_stand_ins")
    plugin.pytest_configure = pytest_configure
    for fixture in (worker_id, testrun_uid):
        setattr(plugin, fixture.__name__, pytest.fixture(scope="session")(fixture))
    for name in ("cov", "no_cover"):
        setattr(plugin, name, pytest.fixture(name=name)(nothing))
    plugin.benchmark = pytest.fixture(benchmark)
    return plugin
