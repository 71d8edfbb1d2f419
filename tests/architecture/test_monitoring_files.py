"""The Grafana dashboard and the systemd unit name only what the code has."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families

from bot.cli import COMMANDS, build_parser
from bot.domain.mission import Outcome
from bot.domain.registry import FixState
from bot.domain.telemetry import Figures
from bot.front.metrics import metrics_router
from bot.settings import leaves
from tests.architecture.tracked import ROOT
from tests.missing import missing

DASHBOARD = ROOT / "deploy" / "grafana" / "metaagent.json"
UNIT = ROOT / "deploy" / "metaagent.service"
FUNCTIONS = {"sum", "max", "count", "by", "increase"}
Labels = dict[str, set[str]]
Panel = dict[str, Any]


def panels() -> list[Panel]:
    """Every panel of the dashboard."""
    found: list[Panel] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def expressions() -> list[str]:
    """Every query of the dashboard."""
    return [target["expr"] for panel in panels() for target in panel["targets"]]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def exported() -> Labels:
    """The names of all samples that `/metrics` sends, with their labels."""

    async def read() -> Figures:
        return Figures(
            totals={"FIXED": (1, 1.0, 1.0)}, active={"waiting": (1, "")}, fates={"open": 1}
        )

    app = FastAPI()
    app.include_router(metrics_router(read))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://bot") as http:
        text = (await http.get("/metrics")).text
    return {
        sample.name: set(sample.labels)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.anyio
async def test_every_metric_and_label_of_the_dashboard_is_exported(exported: Labels) -> None:
    for expression in expressions():
        names = re.findall(r"metaagent_\w+", expression)
        assert names
        assert set(names) <= set(exported), expression
        labels = {
            label.strip()
            for group in re.findall(r"by \(([^)]*)\)", expression)
            for label in group.split(",")
        } | set(re.findall(r"(\w+)=\"", expression))
        for name in names:
            assert labels <= exported[name], expression
        words = set(re.findall(r"(?<![\w$\"])[a-z_]+(?=\s*\()", expression))
        assert words <= FUNCTIONS, expression


@pytest.mark.anyio
async def test_every_exported_metric_is_shown_and_documented(exported: Labels) -> None:
    shown = set(re.findall(r"metaagent_\w+", " ".join(expressions())))
    assert shown == set(exported)
    guide = (ROOT / "docs" / "howto" / "monitor.md").read_text()
    assert set(re.findall(r"`(metaagent_\w+)", guide)) == set(exported)


def test_the_values_that_the_dashboard_selects_exist() -> None:
    values = re.findall(r'="(\w+)"', " ".join(expressions()))
    assert values
    assert set(values) <= {one.value for one in (*Outcome, *FixState)}


def test_figures_that_every_process_reports_are_not_added_up() -> None:
    # Each process reports the figures of all: their sum would grow with the number of processes.
    for expression in expressions():
        for name in re.findall(r"metaagent_\w+", expression):
            once = rf"max(?: by \(\w+\))? ?\((?:increase\()?{name}"
            is_of_process = name in {"metaagent_working", "metaagent_info"}
            assert is_of_process or re.search(once, expression), expression


def test_panels_have_their_own_ids_and_places() -> None:
    taken: set[tuple[int, int]] = set()
    assert len({panel["id"] for panel in panels()}) == len(panels())
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


# --- the unit -----------------------------------------------------------------------------------------


def options() -> Iterator[tuple[str, str]]:
    """Every option of the unit with its value."""
    for line in UNIT.read_text().splitlines():
        if line and line[0] not in "#[":
            name, _, value = line.partition("=")
            yield name, value


def test_the_command_of_the_unit_exists() -> None:
    (start,) = (value for name, value in options() if name == "ExecStart")
    program, *words = start.split()
    assert Path(program).name == "metaagent"
    assert words[0] in COMMANDS
    assert build_parser(words).parse_args(words).command_name == words[0]


def test_the_variables_of_the_unit_are_settings() -> None:
    names = {value.partition("=")[0] for name, value in options() if name == "Environment"}
    assert names - {"HOME"} <= {leaf.variable for leaf in leaves()}
    assert "METAAGENT_SANDBOX__EGRESS_FOLDER" in names, "a private /tmp needs it"


def test_the_unit_gives_up_every_right_that_the_service_does_not_need() -> None:
    found = dict(options())
    assert (found["NoNewPrivileges"], found["CapabilityBoundingSet"]) == ("yes", "")
    assert (found["ProtectSystem"], found["ProtectHome"], found["PrivateTmp"]) == (
        "strict",
        "yes",
        "yes",
    )
    assert (found["User"], found["UMask"], found["StateDirectoryMode"]) == (
        "metaagent",
        "0077",
        "0700",
    )


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        missing("systemd-analyze is not installed")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/metaagent/bin/metaagent", "/bin/true"))
    done = subprocess.run(
        [program, "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
