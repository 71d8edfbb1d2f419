"""The Prometheus endpoint: figures from the table of missions, so that any process answers for all.

The only code that imports prometheus_client, and only when the endpoint is on.
"""

import hmac
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import SecretStr

from bot import __version__
from bot.domain.telemetry import Figures
from bot.errors import SettingsError, StoreError
from bot.front.shared_query import SharedQuery


def metrics_router(
    read: Callable[[], Awaitable[Figures]], token: SecretStr | None = None
) -> APIRouter:
    """Return the route `/metrics`.

    Args:
        read: Reads the figures; concurrent scrapers share one call.
        token: The bearer token that a scraper must send; None asks for none.

    Raises:
        SettingsError: the library is not installed.
    """
    try:
        from prometheus_client import CollectorRegistry, generate_latest
        from prometheus_client.exposition import CONTENT_TYPE_LATEST
    except ImportError as error:
        raise SettingsError(
            "telemetry.metrics needs prometheus_client", "install metaagent[metrics]"
        ) from error
    router = APIRouter()
    figures_query = SharedQuery(read)

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        """Answer a scraper."""
        if token is not None and not _is_signed(request, token):
            return Response("a bearer token is required\n", 401, {"www-authenticate": "Bearer"})
        try:
            figures = await figures_query.answer()
        except StoreError as error:
            return Response(f"{error.message}\n", 503, media_type="text/plain")
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(figures))
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return router


def _is_signed(request: Request, token: SecretStr) -> bool:
    given = request.headers.get("authorization", "").encode()
    return hmac.compare_digest(given, f"Bearer {token.get_secret_value()}".encode())


class _Collector:
    """Presents figures to the library.

    Args:
        figures: The figures.
    """

    def __init__(self, figures: Figures) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Any]:
        """Yield the metrics."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        figures = self._figures
        info = GaugeMetricFamily("metaagent_info", "The running version.", labels=("version",))
        info.add_metric((__version__,), 1)
        yield info
        up = "1 if deliveries reach the queue in this process."
        yield GaugeMetricFamily("metaagent_working", up, value=float(figures.working))
        columns = (
            ("metaagent_missions_total", "Ended missions."),
            ("metaagent_mission_seconds_total", "Seconds of ended missions."),
            ("metaagent_model_cost_usd_total", "Costs of models in ended missions, US dollars."),
        )
        for number, (name, text) in enumerate(columns):
            family = CounterMetricFamily(name, text, labels=("outcome",))
            for outcome, total in sorted(figures.totals.items()):
                family.add_metric((outcome,), total[number])
            yield family
        active = GaugeMetricFamily(
            "metaagent_missions_active", "Missions that wait or run.", labels=("state",)
        )
        for state in ("waiting", "running"):
            active.add_metric((state,), figures.active.get(state, (0, ""))[0])
        yield active
        age = "Age of the oldest waiting mission."
        yield GaugeMetricFamily("metaagent_oldest_waiting_seconds", age, value=figures.oldest_s)
        fates = GaugeMetricFamily(
            "metaagent_fixes", "Offered fixes by what became of them.", labels=("fate",)
        )
        for fate, count in sorted(figures.fates.items()):
            fates.add_metric((fate,), count)
        yield fates
