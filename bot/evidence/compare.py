"""What a bundle claims beside what was measured now, and the one verdict that comes of it. Pure."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from bot.domain.evidence import (
    Claim,
    ClaimedFix,
    ClaimedRun,
    Compared,
    EvidenceBundle,
    Replay,
    ReplayVerdict,
)
from bot.domain.mission import Outcome
from bot.domain.patch import Verification
from bot.evidence.claim import control_of, place_of, run_of, runs_of
from bot.mission.reports import failing_of
from sandbox.types import FileEdit, Frozen, TestReport, WorkspaceFacts

_SHOWN = 50
"""Failing tests that get a row of their own."""
_MATERIAL = ("interpreter", "installed packages")
"""Where these differ, other results prove nothing against the claim."""
_SAID = {
    Outcome.BASE_RED: "the base commit is not in the bundle: that it is red too was not run again",
    Outcome.FLAKY: "chance decides a flaky run: other counts are no contradiction",
    Outcome.INFRA: "what was out of reach then may be within reach now",
    Outcome.NEEDS_HUMAN: "the question to a person is not a claim that can be run",
}


class Findings(Frozen):
    """What was measured now."""

    facts: WorkspaceFacts | None = None
    reports: tuple[TestReport, ...] = ()
    """Of the unpatched commit, the first one first."""
    verification: Verification | None = None
    refused: str = ""
    """Why the fix could not even be tried."""
    trouble: str = ""
    """Why nothing could be run."""


class _Says(Frozen):
    """A verdict and why."""

    verdict: ReplayVerdict
    reason: str


def compared(bundle: EvidenceBundle, findings: Findings) -> Replay:
    """Claims and measurements side by side.

    Args:
        bundle: What is claimed.
        findings: What was measured.
    """
    claim = bundle.claim
    environment = _environment(claim, findings)
    paper = _paper(bundle)
    red = _red(claim, findings.reports)
    green = _green(bundle, findings)
    says = _verdict(claim, findings, (paper, red, green), environment)
    said = _SAID.get(Outcome(claim.outcome)) if claim.outcome in set(Outcome) else None
    return Replay(
        verdict=says.verdict,
        reason=says.reason,
        mission_id=claim.mission_id,
        outcome=claim.outcome,
        compared=(*paper, *red, *green),
        environment=environment,
        notes=(*bundle.notes, *((said,) if said else ())),
        red_output=findings.reports[0].raw_output if findings.reports else "",
    )


def _verdict(
    claim: Claim,
    findings: Findings,
    rows: tuple[tuple[Compared, ...], tuple[Compared, ...], tuple[Compared, ...]],
    environment: tuple[Compared, ...],
) -> _Says:
    """One of three, the first reason that applies."""
    paper, red, green = rows
    if findings.trouble:
        return _Says(verdict="CANNOT BE COMPARED", reason=findings.trouble)
    if not _all_same(paper):
        return _Says(verdict="NOT CONFIRMED", reason=f"the bundle contradicts itself: {_first(paper)}")
    if not _all_same(red):
        return _without_red(claim, _first(red), environment)
    if findings.refused:
        return _Says(verdict="NOT CONFIRMED", reason=findings.refused)
    if not _all_same(green):
        now = findings.verification.reason if findings.verification else ""
        return _Says(verdict="NOT CONFIRMED", reason="; ".join(part for part in (_first(green), now) if part))
    what = "red as claimed, and the fix turns it green as claimed" if green else "the runs are as claimed"
    return _Says(verdict="CONFIRMED", reason=what)


def _without_red(claim: Claim, difference: str, environment: tuple[Compared, ...]) -> _Says:
    """The unpatched runs are not as claimed: whether that says something against the claim."""
    if claim.outcome == Outcome.FLAKY:
        return _Says(verdict="CANNOT BE COMPARED", reason=f"chance decides a flaky run: {difference}")
    other = [row.what for row in environment if row.what in _MATERIAL and not row.same]
    if other:
        reason = f"the unpatched run differs, and so does the environment ({', '.join(other)}): {difference}"
        return _Says(verdict="CANNOT BE COMPARED", reason=reason)
    return _Says(verdict="NOT CONFIRMED", reason=difference)


def _environment(claim: Claim, findings: Findings) -> tuple[Compared, ...]:
    """What the runs stood on, then and now; what one side does not know is no difference."""
    if findings.facts is None:
        return ()
    then, now = claim.place, place_of(findings.facts)
    pairs = (
        ("backend", then.backend, now.backend),
        ("interpreter", then.interpreter, now.interpreter),
        ("installed packages", then.lock_hash, now.lock_hash),
        ("image", then.image_digest, now.image_digest),
    )
    return tuple(
        Compared(what=what, claimed=a or "unknown", now=b or "unknown", same=a == b or not (a and b))
        for what, a, b in pairs
    )


def _paper(bundle: EvidenceBundle) -> tuple[Compared, ...]:
    """Whether the bundle agrees with itself, before anything is run."""
    claim, evidence = bundle.claim, bundle.evidence
    fix = evidence.get("fix")
    told = fix.get("patch_sha256") if isinstance(fix, dict) else None
    diff = hashlib.sha256(bundle.diff.encode("utf-8", "surrogateescape")).hexdigest()
    rows = [
        _row("outcome in evidence.json", claim.outcome, str(evidence.get("outcome"))),
        _row("patch in evidence.json", diff if claim.fix else "none", str(told or "none")),
    ]
    if claim.outcome == Outcome.FIXED:
        rows.append(_row("a green fix behind FIXED", "yes", "yes" if claim.fix and claim.fix.green else "no"))
    if claim.outcome == Outcome.PARTIAL:
        rows.append(_row("a partial fix behind PARTIAL", "yes", "yes" if claim.fix and claim.fix.partial else "no"))
    return tuple(rows)


def _red(claim: Claim, reports: Sequence[TestReport]) -> tuple[Compared, ...]:
    """The failing commit as it is, without the fix."""
    if not reports:
        return ()
    if claim.outcome in {Outcome.FLAKY, Outcome.NOT_REPRODUCED}:
        reds = sum(not report.success for report in reports)
        mixed = 0 < reds < len(reports)
        same = mixed if claim.outcome == Outcome.FLAKY else reds == 0
        claimed, now = f"red in {claim.red_runs} of {claim.runs} runs", f"red in {reds} of {len(reports)} runs"
        return (Compared(what="unpatched", claimed=claimed, now=now, same=same),)
    now_run = run_of("unpatched", reports[0])
    unsteady = frozenset(claim.unsteady)
    failing = sorted(failing_of(claim.red.outcomes) - unsteady)
    rows = [_row("unpatched", _told(claim.red, unsteady), _told(now_run, unsteady))]
    rows += [
        _row(name, claim.red.outcomes[name].value, now_run.outcomes[name].value if name in now_run.outcomes else "-")
        for name in failing
    ]
    new = sorted(failing_of(now_run.outcomes) - failing_of(claim.red.outcomes))
    rows += [_row(name, _status(claim.red, name), _status(now_run, name)) for name in new]
    return _bounded(rows)


def _green(bundle: EvidenceBundle, findings: Findings) -> tuple[Compared, ...]:
    """The fix in fresh sandboxes."""
    fix, now = bundle.claim.fix, findings.verification
    if fix is None or now is None:
        return ()
    runs = {run.label: run for run in runs_of(now)}
    control = control_of(now)
    unsteady = frozenset(bundle.claim.unsteady)
    rows = [
        _row("edited files", _edited(fix.edits), _edited(now.edits)),
        Compared(what="diff", claimed=_digest(bundle.diff), now=_digest(now.diff), same=bundle.diff == now.diff),
        _counted(fix.runs, tuple(runs.values())),
        *(_row(f"patched: {r.label}", _told(r, unsteady), _told(runs.get(r.label), unsteady)) for r in fix.runs),
        *([_row("without the change", _told(fix.control, unsteady), _told(control, unsteady))] if fix.control else ()),
        _row("verdict on the fix", _word(fix), _word(now)),
    ]
    # The same files and the same words, but other bytes: said as such.
    if fix.edits != now.edits and _edited(fix.edits) == _edited(now.edits):
        rows[0] = rows[0].with_(now=f"{rows[0].now} (other content)", same=False)
    return _bounded(rows)


def _counted(then: Sequence[ClaimedRun], now: Sequence[ClaimedRun]) -> Compared:
    """How many runs, and which ones when they are not the same."""
    labels = [tuple(run.label for run in runs) for runs in (then, now)]
    same = labels[0] == labels[1]
    texts = [str(len(names)) if same else f"{len(names)}: {'; '.join(names)}" for names in labels]
    return Compared(what="patched runs", claimed=texts[0], now=texts[1], same=same)


def _edited(edits: Sequence[FileEdit]) -> str:
    return ", ".join(sorted(f"{edit.path} {edit.mode}" for edit in edits)) or "none"


def _told(run: ClaimedRun | None, unsteady: frozenset[str]) -> str:
    """A run in a line: its verdict, and how many tests ended how; chance is left out."""
    if run is None:
        return "not run"
    counts = Counter(status.value for name, status in run.outcomes.items() if name not in unsteady)
    parts = [f"{count} {status}" for status, count in sorted(counts.items())]
    return f"{run.verdict.value} ({', '.join(parts)})" if parts else run.verdict.value


def _status(run: ClaimedRun, name: str) -> str:
    return run.outcomes[name].value if name in run.outcomes else "-"


def _word(judged: ClaimedFix | Verification) -> str:
    return "green" if judged.green else "partial" if judged.partial else "not green"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16] if text else "none"


def _row(what: str, claimed: str, now: str) -> Compared:
    return Compared(what=what, claimed=claimed, now=now, same=claimed == now)


def _bounded(rows: Sequence[Compared]) -> tuple[Compared, ...]:
    """All rows that differ, as far as they can be shown, before those that do not."""
    if len(rows) <= _SHOWN:
        return tuple(rows)
    order = sorted(range(len(rows)), key=lambda index: (rows[index].same, index))[:_SHOWN]
    return tuple(rows[index] for index in sorted(order))


def _all_same(rows: Sequence[Compared]) -> bool:
    return all(row.same for row in rows)


def _first(rows: Sequence[Compared]) -> str:
    """The first difference in words."""
    row = next(row for row in rows if not row.same)
    return f"{row.what}: claimed {row.claimed}, now {row.now}"
