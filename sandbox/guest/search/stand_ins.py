"""What tests take from plugins that are off in the search: their marks are known, their fixtures do the plain thing."""

from __future__ import annotations

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
    """A plugin of pytest, which has to be importable."""
    import pytest

    class StandIns:
        """The marks and fixtures."""

        def pytest_configure(self, config: Any) -> None:
            """Whoever wants all marks to be known finds them."""
            for mark in MARKS:
                config.addinivalue_line("markers", f"{mark}: of a plugin that is off")

        @pytest.fixture(scope="session")
        def worker_id(self) -> str:
            """There is one worker only."""
            return "master"

        @pytest.fixture(scope="session")
        def testrun_uid(self) -> str:
            """It is always the same."""
            return "metaagent"

        @pytest.fixture
        def cov(self) -> None:
            """Nothing is measured."""

        @pytest.fixture
        def no_cover(self) -> None:
            """Nothing is measured."""

        @pytest.fixture
        def benchmark(self) -> Timed:
            """Nothing is timed."""
            return Timed()

    return StandIns()
