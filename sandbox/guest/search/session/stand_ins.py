"""What tests take from plugins that are off in the search: their marks are known, their fixtures do the plain thing."""

from __future__ import annotations

import types
from typing import Any, Callable, Dict, Optional, Sequence

MARKS = (
    "xdist_group", "timeout", "flaky", "benchmark", "random_order", "repeat", "flakefinder", "no_cover",
)  # fmt: skip


class Timed:
    """Stands for `benchmark`: calls once."""

    group = name = ""
    disabled = True
    enabled = False
    stats = None

    def __init__(self) -> None:
        self.extra_info: Dict[str, Any] = {}

    def __call__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Its value."""
        return function(*args, **kwargs)

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Optional[Dict[str, Any]] = None,
        setup: Optional[Callable[[], Any]] = None,
        **_: Any,
    ) -> Any:
        """The same with arguments made before."""
        made = setup() if setup is not None else None
        args, kwargs = made or (args, kwargs or {})
        return target(*args, **kwargs)


def stand_ins() -> Any:
    """A plugin of pytest, which has to be importable; a module, for not every pytest likes fixtures of instances."""
    import pytest

    def pytest_configure(config: Any) -> None:
        """Whoever wants all marks to be known finds them."""
        for mark in MARKS:
            config.addinivalue_line("markers", f"{mark}: of a plugin that is off")

    def worker_id() -> str:
        """There is one worker only."""
        return "master"

    def testrun_uid() -> str:
        """It is always the same."""
        return "metaagent"

    def nothing() -> None:
        """Nothing is measured."""

    def benchmark() -> Timed:
        """Nothing is timed."""
        return Timed()

    plugin: Any = types.ModuleType("metaagent_stand_ins")
    plugin.pytest_configure = pytest_configure
    for fixture in (worker_id, testrun_uid):
        setattr(plugin, fixture.__name__, pytest.fixture(scope="session")(fixture))
    for name in ("cov", "no_cover"):
        setattr(plugin, name, pytest.fixture(name=name)(nothing))
    plugin.benchmark = pytest.fixture(benchmark)
    return plugin
