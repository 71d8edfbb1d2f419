"""Comparison of a bundle's claims with new measurements, and the verdict. Pure."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from bot.domain.counted import counted
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
from bot.evidence.claim import claim_control, claim_place, claim_run, claim_runs
from bot.mission.failures.reports import list_failing
from sandbox.types import FileEdit, Frozen, TestReport, WorkspaceFacts

_SHOWN = 50
"""Most failing tests with a row of their own."""
_MATERIAL = ("interpreter", "installed packages")
"""Environment differences that explain different results, so that no verdict is possible."""
_NOTES = {
    Outcome.BASE_RED: "the base commit is not in the bundle, so its failure was not replayed",
    Outcome.FLAKY: "a flaky run depends on chance: other counts are no contradiction",
    Outcome.INFRA: "a service that was unavailable then may be available now",
    Outcome.NEEDS_HUMAN: "the question to a person cannot be replayed",
}


class Findings(Frozen):
    """The new measurements."""

    facts: WorkspaceFacts | None = None
    reports: tuple[TestReport, ...] = ()
    """Reports of the unpatched commit; the first run comes first."""
    verification: Verification | None = None
    refused: str = ""
    """The reason why the fix could not be applied."""
    trouble: str = ""
    """The reason why nothing could be run."""


class _Judgement(Frozen):
    """A verdict and its reason."""

    verdict: ReplayVerdict
    reason: str


def compare_bundle(bundle: EvidenceBundle, findings: Findings) -> Replay:
    """Compare claims with measurements.

    Args:
        bundle: The claims.
        findings: The measurements.
    """
    claim = bundle.claim
    environment = _environment(claim, findings)
    paper = _consistency(bundle)
    red = _red(claim, findings.reports)
    green = _green(bundle, findings)
    says = _verdict(claim, findings, (paper, red, green), environment)
    said = _NOTES.get(Outcome(claim.outcome)) if claim.outcome in set(Outcome) else None
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
) -> _Judgement:
    """Return the verdict of the first rule that applies."""
    paper, red, green = rows
    if findings.trouble:
        return _Judgement(verdict="CANNOT BE COMPARED", reason=findings.trouble)
    if not _all_same(paper):
        return _Judgement(
            verdict="NOT CONFIRMED", reason=f"the bundle contradicts itself: {_first(paper)}"
        )
    if not _all_same(red):
        return _without_red(claim, _first(red), environment)
    if findings.refused:
        return _Judgement(verdict="NOT CONFIRMED", reason=findings.refused)
    if not _all_same(green):
        now = findings.verification.reason if findings.verification else ""
        return _Judgement(
            verdict="NOT CONFIRMED", reason="; ".join(part for part in (_first(green), now) if part)
        )
    what = "the runs are as claimed"
    if claim.outcome == Outcome.IMPROVED:
        what = "green as claimed, with the improvement and without it"
    elif green:
        what = "red as claimed, and the fix turns it green as claimed"
    return _Judgement(verdict="CONFIRMED", reason=what)


def _without_red(claim: Claim, difference: str, environment: tuple[Compared, ...]) -> _Judgement:
    """Return the verdict for unpatched runs that differ from the claim."""
    if claim.outcome == Outcome.FLAKY:
        return _Judgement(
            verdict="CANNOT BE COMPARED", reason=f"a flaky run depends on chance: {difference}"
        )
    other = [row.what for row in environment if row.what in _MATERIAL and not row.same]
    if other:
        reason = (
            "the unpatched run differs, and so does the environment "
            f"({', '.join(other)}): {difference}"
        )
        return _Judgement(verdict="CANNOT BE COMPARED", reason=reason)
    return _Judgement(verdict="NOT CONFIRMED", reason=difference)


def _environment(claim: Claim, findings: Findings) -> tuple[Compared, ...]:
    """Compare the environments of the runs; an unknown value is no difference."""
    if findings.facts is None:
        return ()
    then, now = claim.place, claim_place(findings.facts)
    pairs = (
        ("backend", then.backend, now.backend),
        ("interpreter", then.interpreter, now.interpreter),
        ("installed packages", then.lock_hash, now.lock_hash),
        ("image", then.image_digest, now.image_digest),
    )
    return tuple(
        Compared(
            what=what, claimed=a or "unknown", now=b or "unknown", same=a == b or not (a and b)
        )
        for what, a, b in pairs
    )


def _consistency(bundle: EvidenceBundle) -> tuple[Compared, ...]:
    """Check that the bundle is consistent, before running anything."""
    claim, evidence = bundle.claim, bundle.evidence
    fix = evidence.get("fix")
    told = fix.get("patch_sha256") if isinstance(fix, dict) else None
    diff = hashlib.sha256(bundle.diff.encode("utf-8", "surrogateescape")).hexdigest()
    rows = [
        _row("outcome in evidence.json", claim.outcome, str(evidence.get("outcome"))),
        _row("patch in evidence.json", diff if claim.fix else "none", str(told or "none")),
    ]
    if claim.outcome in {Outcome.FIXED, Outcome.IMPROVED}:
        is_green = "yes" if claim.fix and claim.fix.green else "no"
        rows.append(_row(f"a green fix behind {claim.outcome}", "yes", is_green))
    if claim.outcome == Outcome.PARTIAL:
        rows.append(
            _row(
                "a partial fix behind PARTIAL",
                "yes",
                "yes" if claim.fix and claim.fix.partial else "no",
            )
        )
    return tuple(rows)


def _red(claim: Claim, reports: Sequence[TestReport]) -> tuple[Compared, ...]:
    """Compare the runs of the failing commit without the fix."""
    if not reports:
        return ()
    if claim.outcome in {Outcome.FLAKY, Outcome.NOT_REPRODUCED}:
        reds = sum(not report.success for report in reports)
        # Chance decides the numbers, so a flaky claim only needs both results.
        mixed = 0 < reds < len(reports)
        same = mixed if claim.outcome == Outcome.FLAKY else reds == 0
        claimed, now = (
            f"red in {claim.red_runs} of {counted(claim.runs, 'run')}",
            f"red in {reds} of {counted(len(reports), 'run')}",
        )
        return (Compared(what="unpatched", claimed=claimed, now=now, same=same),)
    now_run = claim_run("unpatched", reports[0])
    unsteady = frozenset(claim.unsteady)
    failing = sorted(list_failing(claim.red.outcomes) - unsteady)
    rows = [
        _row("unpatched", _summarize_run(claim.red, unsteady), _summarize_run(now_run, unsteady))
    ]
    rows += [
        _row(
            name,
            claim.red.outcomes[name].value,
            now_run.outcomes[name].value if name in now_run.outcomes else "-",
        )
        for name in failing
    ]
    new = sorted(list_failing(now_run.outcomes) - list_failing(claim.red.outcomes))
    rows += [_row(name, _status(claim.red, name), _status(now_run, name)) for name in new]
    return _bounded(rows)


def _green(bundle: EvidenceBundle, findings: Findings) -> tuple[Compared, ...]:
    """Compare the runs of the fix in fresh sandboxes."""
    fix, now = bundle.claim.fix, findings.verification
    if fix is None or now is None:
        return ()
    runs = {run.label: run for run in claim_runs(now)}
    control = claim_control(now)
    unsteady = frozenset(bundle.claim.unsteady)
    rows = [
        _row("edited files", _edited(fix.edits), _edited(now.edits)),
        Compared(
            what="diff",
            claimed=_digest(bundle.diff),
            now=_digest(now.diff),
            same=bundle.diff == now.diff,
        ),
        _compare_runs(fix.runs, tuple(runs.values())),
        *(
            _row(
                f"patched: {r.label}",
                _summarize_run(r, unsteady),
                _summarize_run(runs.get(r.label), unsteady),
            )
            for r in fix.runs
        ),
        *(
            [
                _row(
                    "without the change",
                    _summarize_run(fix.control, unsteady),
                    _summarize_run(control, unsteady),
                )
            ]
            if fix.control
            else ()
        ),
        _row("verdict on the fix", _word(fix), _word(now)),
    ]
    # Same files and modes, but other bytes: the row would look equal.
    if fix.edits != now.edits and _edited(fix.edits) == _edited(now.edits):
        rows[0] = rows[0].with_(now=f"{rows[0].now} (other content)", same=False)
    return _bounded(rows)


def _compare_runs(then: Sequence[ClaimedRun], now: Sequence[ClaimedRun]) -> Compared:
    """Compare the number of runs, and their labels if they differ."""
    labels = [tuple(run.label for run in runs) for runs in (then, now)]
    same = labels[0] == labels[1]
    texts = [str(len(names)) if same else f"{len(names)}: {'; '.join(names)}" for names in labels]
    return Compared(what="patched runs", claimed=texts[0], now=texts[1], same=same)


def _edited(edits: Sequence[FileEdit]) -> str:
    return ", ".join(sorted(f"{edit.path} {edit.mode}" for edit in edits)) or "none"


def _summarize_run(run: ClaimedRun | None, unsteady: frozenset[str]) -> str:
    """Describe a run in one line: verdict and counts by status, without unsteady tests."""
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
    return (
        hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16] if text else "none"
    )


def _row(what: str, claimed: str, now: str) -> Compared:
    return Compared(what=what, claimed=claimed, now=now, same=claimed == now)


def _bounded(rows: Sequence[Compared]) -> tuple[Compared, ...]:
    """Bound the number of rows; rows with a difference come first."""
    if len(rows) <= _SHOWN:
        return tuple(rows)
    order = sorted(range(len(rows)), key=lambda index: (rows[index].same, index))[:_SHOWN]
    return tuple(rows[index] for index in sorted(order))


def _all_same(rows: Sequence[Compared]) -> bool:
    return all(row.same for row in rows)


def _first(rows: Sequence[Compared]) -> str:
    """Return the first difference in words."""
    row = next(row for row in rows if not row.same)
    return f"{row.what}: claimed {row.claimed}, now {row.now}"
