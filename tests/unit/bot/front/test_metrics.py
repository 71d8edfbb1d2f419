"""The Prometheus endpoint: its figures, its token, and that it costs nothing while it is off."""

import asyncio
import subprocess
import sys

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from bot.domain.telemetry import Figures
from bot.errors import StoreError
from bot.front.metrics import metrics_router

pytestmark = pytest.mark.anyio
FIGURES = Figures(
    totals={"FIXED": (3, 37.5, 0.75), "FLAKY": (1, 2.0, 0.0)},
    active={"waiting": (2, "2026-01-02")},
    oldest_s=61.0,
    fates={"merged": 2},
)


async def scraped(app: FastAPI, **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://bot") as http:
        return await http.get("/metrics", headers=headers)


def an_app(token: str | None = None, figures: Figures | None = FIGURES) -> FastAPI:
    async def read() -> Figures:
        if figures is None:
            raise StoreError("the disk is gone")
        return figures

    app = FastAPI()
    app.include_router(metrics_router(read, SecretStr(token) if token else None))
    return app


async def test_a_scraper_reads_the_figures_of_all_processes() -> None:
    reply = await scraped(an_app())
    assert reply.status_code == 200
    samples = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
    }
    assert samples["metaagent_missions_total", "FIXED"] == 3
    assert samples["metaagent_mission_seconds_total", "FIXED"] == 37.5
    assert samples["metaagent_model_cost_usd_total", "FIXED"] == 0.75
    assert samples["metaagent_missions_active", "waiting"] == 2
    assert samples["metaagent_missions_active", "running"] == 0
    assert samples["metaagent_oldest_waiting_seconds",] == 61
    assert samples["metaagent_fixes", "merged"] == 2
    assert samples["metaagent_working",] == 1


@pytest.mark.parametrize("given", [{}, {"authorization": "Bearer wrong"}, {"authorization": "k"}])
async def test_with_a_token_only_its_holder_is_answered(given: dict[str, str]) -> None:
    app = an_app("s3cret-of-the-scraper")
    refused = await scraped(app, **given)
    assert (refused.status_code, "metaagent_" in refused.text) == (401, False)
    answered = await scraped(app, authorization="Bearer s3cret-of-the-scraper")
    assert answered.status_code == 200


async def test_a_database_that_is_away_is_no_fault_of_the_scraper() -> None:
    assert (await scraped(an_app(figures=None))).status_code == 503


async def test_concurrent_scrapers_share_one_query_and_later_ones_ask_again() -> None:
    release, asked = asyncio.Event(), []

    async def read() -> Figures:
        asked.append(1)
        await release.wait()
        return FIGURES

    app = FastAPI()
    app.include_router(metrics_router(read))
    scrapes = [asyncio.create_task(scraped(app)) for _ in range(5)]
    for _ in range(1_000):  # until every scrape waits
        await asyncio.sleep(0)
    scrapes[0].cancel()
    release.set()
    replies = await asyncio.gather(*scrapes[1:])
    assert {reply.status_code for reply in replies} == {200}
    assert len(asked) == 1
    assert (await scraped(app)).status_code == 200
    assert len(asked) == 2


def test_telemetry_that_is_off_imports_nothing() -> None:
    # A library of ours loads OpenTelemetry's interface, but neither its SDK nor its exporter.
    program = (
        "import sys, bot.app, bot.wiring.service; print({'prometheus_client', 'opentelemetry.sdk',"
        " 'opentelemetry.exporter', 'requests'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
