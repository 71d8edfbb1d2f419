"""metaagent replay: run a verdict again from its evidence bundle; no GitHub or account needed."""

import asyncio
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.domain.evidence import Compared, EvidenceBundle, Replay
from bot.errors import UsageError
from bot.evidence.bundle import read_bundle
from bot.evidence.keep import find_bundle
from bot.evidence.replay import replay_bundle
from bot.publish.markdown import SafeWriter
from bot.settings import Settings
from bot.terminal.prepare import set_up_quiet_logging
from bot.wiring.mission_services import (
    BuildMissionServices,
    build_mission_services,
    open_mission_services,
)
from bot.wiring.storage import open_storage

_OUTPUT_CHARACTERS = 8000
"""Maximum characters shown of the run without the fix."""
_CELL_CHARACTERS = 72


@dataclass(frozen=True)
class ReplayOrder:
    """The options of one run."""

    path: str
    """A file, or the mission or SHA-256 of a stored bundle."""
    keep_red: bool = False
    """Also show the output of the run without the fix."""


@dataclass(frozen=True)
class ReplayResult:
    """A text for people, and an object for programs."""

    verdict: str
    text: str
    json_object: dict[str, Any]


def run_replay(
    order: ReplayOrder, settings: Settings, *, build: BuildMissionServices = build_mission_services
) -> ReplayResult:
    """Run the verdict of a bundle again.

    Args:
        order: The options.
        settings: All settings.
        build: Builds the external dependencies from settings; only sandboxes are used.

    Raises:
        UsageError: it is missing, or no usable bundle.
        StoreError: the store is out of reach.
        SandboxError: no sandbox is available, or the bundle's checkout cannot be imported.
    """
    raw = _read(order.path, settings)
    bundle = read_bundle(raw)
    replay = asyncio.run(_replay(bundle, set_up_quiet_logging(settings), build))
    return _result(replay, bundle, hashlib.sha256(raw).hexdigest(), keep_red=order.keep_red)


def _read(word: str, settings: Settings) -> bytes:
    """Return the file of that name, or the stored bundle."""
    path, limit = Path(word), settings.evidence.bundle_bytes
    try:
        with path.open("rb") as file:
            # One byte more than the limit, to recognise a file that is larger than it.
            raw = file.read(limit + 1)
    except FileNotFoundError:
        raw = asyncio.run(find_bundle(open_storage(settings), word))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{word!a} cannot be read ({type(error).__name__})", "name an evidence bundle"
        ) from error
    if len(raw) > limit:
        raise UsageError(
            f"{word!a} is larger than {limit} bytes",
            "raise evidence.bundle_bytes to read it all the same",
        )
    return raw


async def _replay(
    bundle: EvidenceBundle, settings: Settings, build: BuildMissionServices
) -> Replay:
    async with open_mission_services(settings, build) as services:
        return await replay_bundle(bundle, services.open_workspace, clock=services.clock)


def _result(replay: Replay, bundle: EvidenceBundle, sha256: str, *, keep_red: bool) -> ReplayResult:
    pen = SafeWriter()
    red = pen.block(replay.red_output, cap=_OUTPUT_CHARACTERS) if keep_red else None
    json_object = {
        "verdict": replay.verdict,
        "reason": pen.line(replay.reason, cap=1000),
        "mission_id": pen.line(replay.mission_id),
        "outcome": pen.line(replay.outcome),
        "head_sha": bundle.claim.head_sha,
        "bundle_sha256": sha256,
        "compared": [_gate(row, pen) for row in replay.compared],
        "environment": [_gate(row, pen) for row in replay.environment],
        "notes": [pen.line(note) for note in replay.notes],
        "red_output": red,
        "seconds": replay.seconds,
    }
    return ReplayResult(replay.verdict, _text(json_object), json_object)


def _gate(row: Compared, pen: SafeWriter) -> dict[str, Any]:
    return {
        "what": pen.line(row.what),
        "claimed": pen.line(row.claimed),
        "now": pen.line(row.now),
        "same": row.same,
    }


def _text(found: dict[str, Any]) -> str:
    """Return the result for a terminal."""
    lines = [f"{found['verdict']}: {found['reason']}", ""]
    lines += [f"mission   {found['mission_id']}, which ended {found['outcome']}"]
    if found["head_sha"]:
        lines.append(f"commit    {found['head_sha']}")
    lines += [f"bundle    sha256 {found['bundle_sha256']}", ""]
    lines += _table("claimed and now", found["compared"])
    lines += _table("environment", found["environment"])
    lines += (
        ["not run again", *(f"  {note}" for note in found["notes"]), ""] if found["notes"] else []
    )
    if found["red_output"] is not None:
        lines += [
            "output of the unpatched run",
            *(f"  {line}" for line in found["red_output"].splitlines()),
            "",
        ]
    return "\n".join([*lines, f"{found['seconds']:.1f} s"])


def _cell(text: str) -> str:
    """Return a cell's text, with a hash shortened; comparisons use the whole hash."""
    found = re.fullmatch(r"((?:sha256:)?[0-9a-f]{12})[0-9a-f]{20,}", text)
    if found:
        return f"{found[1]}…"
    return text if len(text) <= _CELL_CHARACTERS else f"{text[: _CELL_CHARACTERS - 1]}…"


def _table(title: str, rows: list[dict[str, Any]]) -> list[str]:
    if not rows:
        return []
    shown = [
        (
            *(_cell(row[name]) for name in ("what", "claimed", "now")),
            "same" if row["same"] else "DIFFERS",
        )
        for row in rows
    ]
    widths = [max(len(row[column]) for row in shown) for column in range(3)]
    table = [
        f"  {what:<{widths[0]}}  {claimed:<{widths[1]}}  {now:<{widths[2]}}  {same}"
        for what, claimed, now, same in shown
    ]
    return [title, *table, ""]
