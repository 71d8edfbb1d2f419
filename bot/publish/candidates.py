"""Search results for a terminal and for programs: rank, cluster, diff and evidence."""

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bot.domain.counted import counted
from bot.fixers.rung1_search.attempt import RankedFix, SearchResult
from bot.fixers.rung1_search.presentation import list_doubts
from bot.publish.markdown import SafeWriter
from sandbox.diffs import Original, write_diff
from sandbox.types import Difference, FileEdit, Profile, Survivor, TestReport

_DIFF_CHARACTERS = 20_000
_TESTS_NAMED = 10
_CHANGE_CHARACTERS = 60
_PLACE_CHARACTERS = 40


@dataclass(frozen=True)
class SearchReport:
    """Result of one search."""

    outcome: Literal["FOUND", "NONE", "NOT SEARCHED"]
    reason: str
    report: TestReport
    """The red run."""
    show: int
    """Maximum number of candidates to show."""
    attempt: SearchResult | None = None
    advice: str = ""
    """The next thing to look at if nothing was found."""

    @property
    def shown(self) -> tuple[RankedFix, ...]:
        """Return the candidates to show."""
        return self.attempt.shown[: self.show] if self.attempt else ()


def searched_json(searched: SearchReport) -> dict[str, Any]:
    """Return the result as data with all text sanitized."""
    pen, found = SafeWriter(), searched.attempt
    done = found.done if found else None
    return {
        "outcome": searched.outcome,
        "reason": pen.line(searched.reason, cap=1000),
        "advice": pen.line(searched.advice, cap=1000),
        "confident": bool(searched.shown) and searched.shown[0].ranked.confident,
        "failing": [pen.line(name) for name in sorted(searched.report.failing)],
        "candidates": [_candidate(searched, index, pen) for index in range(len(searched.shown))],
        "plausible": len(found.survivors) if found else 0,
        "behaviours": searched.shown[0].ranked.behaviours if searched.shown else 0,
        "tried": found.tried if found else 0,
        "held_out": len(found.request.held_out) if found else 0,
        "plain_run": pen.line(found.plain_run) if found else "",
        "refuted": found.refuted if found else 0,
        "seconds": done.seconds if done else 0.0,
        "ended": done.reason if done else "",
        "detail": pen.line(done.detail) if done else "",
        "lanes": [pen.line(note) for note in found.started.lane_notes]
        if found and found.started
        else [],
        "suspects": _suspects(found, pen),
    }


def _candidate(searched: SearchReport, index: int, pen: SafeWriter) -> dict[str, Any]:
    one, found = searched.shown[index], searched.attempt
    survivor = one.ranked.survivor
    number = one.ranked.number
    return {
        "rank": index + 1,
        "cluster": clusters(searched)[index],
        "score": one.ranked.score,
        "template": pen.line(survivor.template),
        "path": pen.line(survivor.path),
        "line": survivor.line,
        "change": pen.line(survivor.description),
        "diff": pen.block(_diff(one, found), cap=_DIFF_CHARACTERS),
        "lane": survivor.lane,
        "suspicion": round(survivor.suspicion, 3),
        "agreeing": one.ranked.agreeing,
        "tried": survivor.tried,
        "seconds": round(survivor.seconds, 2),
        "observed": _profile(found, survivor, number).model_dump(),
        "doubts": [pen.line(doubt) for doubt in list_doubts(one.ranked)],
        "differs": [_difference(d, number, pen) for d in _differences(found, number)],
    }


def clusters(searched: SearchReport) -> tuple[str, ...]:
    """Return the behaviour of each shown candidate as a letter.

    Equal letters mean equal behaviour on all compared inputs.
    """
    found = searched.attempt
    if found is None:
        return ()
    keys: list[str] = []
    for one in searched.shown:
        number = one.ranked.number
        known = found.compared.clusters if found.compared else ()
        # Without a comparison, no two candidates count as alike.
        keys.append(
            f"c{known[number]}"
            if number < len(known)
            else one.ranked.survivor.behaviour or f"#{number}"
        )
    order = list(dict.fromkeys(keys))
    return tuple(_letters(order.index(key)) for key in keys)


def _letters(number: int) -> str:
    letters = string.ascii_uppercase
    return (
        letters[number]
        if number < len(letters)
        else f"{letters[number // len(letters) - 1]}{_letters(number % 26)}"
    )


def _diff(one: RankedFix, found: SearchResult | None) -> str:
    originals = found.originals if found else {}
    edits = [
        FileEdit(path=c.path, mode="100644", content=(c.content or "").encode())
        for c in one.changes
    ]
    return write_diff(
        edits, {path: Original(content=text.encode()) for path, text in originals.items()}
    )


def _profile(found: SearchResult | None, survivor: Survivor, number: int) -> Profile:
    reported = found.compared.profiles if found and found.compared else ()
    return reported[number] if number < len(reported) else survivor.profile


def _differences(found: SearchResult | None, number: int) -> Sequence[Difference]:
    reported = found.compared.differences if found and found.compared else ()
    return [d for d in reported if number in {d.first, d.second}]


def _difference(difference: Difference, number: int, pen: SafeWriter) -> dict[str, Any]:
    mine = 0 if difference.first == number else 1
    return {
        "input": pen.line(difference.input),
        "gives": pen.line(difference.results[mine]),
        "other": pen.line(difference.results[1 - mine]),
    }


def _suspects(found: SearchResult | None, pen: SafeWriter) -> list[dict[str, Any]]:
    lines = found.started.suspect_lines if found and found.started else ()
    return [
        {
            "file": pen.line(s.file),
            "line": s.line,
            "score": round(s.score, 3),
            "reason": pen.line(s.reason),
        }
        for s in lines[:_TESTS_NAMED]
    ]


def searched_text(searched: SearchReport, *, again: str) -> str:
    """Return the result for a terminal.

    Args:
        searched: Result of a search.
        again: The command that verifies and writes a fix.
    """
    found = searched_json(searched)
    lines = [f"{found['outcome']}: {found['reason']}"]
    lines += [f"  next: {found['advice']}"] if found["advice"] else []
    lines.append("")
    lines += (
        ["Failing", *(f"  {name}" for name in found["failing"][:_TESTS_NAMED])]
        if found["failing"]
        else []
    )
    more = len(found["failing"]) - _TESTS_NAMED
    lines += [f"  and {more} more"] if more > 0 else []
    if found["candidates"]:
        lines += ["", "Candidates", *_table(found["candidates"])]
        for candidate in found["candidates"]:
            lines += ["", *_in_full(candidate)]
    elif found["suspects"]:
        lines += [
            "",
            "Most suspect",
            *(f"  {s['file']}:{s['line']}  {s['reason']}" for s in found["suspects"]),
        ]
    if searched.attempt is not None:
        lines += ["", *_search(found)]
    if found["candidates"]:
        lines += [
            "",
            "Nothing is written. To verify a fix in fresh sandboxes and write it:",
            f"  {again}",
        ]
    return "\n".join(lines) + "\n"


def _table(candidates: Sequence[dict[str, Any]]) -> list[str]:
    rows = [("rank", "cluster", "score", "place", "change", "template")]
    for one in candidates:
        place = _short(f"{one['path']}:{one['line']}", _PLACE_CHARACTERS)
        change = _short(one["change"], _CHANGE_CHARACTERS)
        rows.append(
            (
                str(one["rank"]),
                one["cluster"],
                f"{one['score']:.2f}",
                place,
                change,
                one["template"],
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _in_full(one: dict[str, Any]) -> list[str]:
    lines = [f"{one['rank']}. {one['change']}", "", *one["diff"].splitlines(), ""]
    facts = [
        f"cluster {one['cluster']}, score {one['score']:.2f}, {one['template']}, {one['lane']} lane"
    ]
    facts.append(
        f"suspicion {one['suspicion']:.2f}, candidate {one['tried']} after {one['seconds']:.1f} s"
    )
    if one["agreeing"] > 1:
        others = one["agreeing"] - 1
        facts.append(counted(others, "other edit behaves alike", plural="other edits behave alike"))
    facts += _observed(one["observed"])
    facts += [
        f"{d['input']} gives {d['gives']}, another candidate {d['other']}" for d in one["differs"]
    ]
    facts += [f"doubt: {doubt}" for doubt in one["doubts"]]
    return [*lines, *(f"   {fact}" for fact in facts)]


def _observed(profile: dict[str, Any]) -> list[str]:
    facts = []
    if profile["passing_calls"]:
        facts.append(
            f"{profile['changed_passing']} of {counted(profile['passing_calls'], 'call')} "
            "of passing tests changed"
        )
    if profile["neighbours"]:
        facts.append(
            f"{profile['changed_neighbours']} of {counted(profile['neighbours'], 'input')} "
            "near them changed"
        )
    if profile["held_out_failed"]:
        facts.append(f"fails {counted(profile['held_out_failed'], 'held-out test')}")
    if profile["new_errors"]:
        facts.append(f"newly raises an error for {counted(profile['new_errors'], 'input')}")
    if profile["donor"]:
        facts.append("the same text occurs elsewhere in the repository")
    return facts


def _search(found: dict[str, Any]) -> list[str]:
    seconds = found["seconds"]
    # A rate of 0 would only say that almost all time went into starting.
    rate = f", {found['tried'] / seconds:.0f} a second" if found["tried"] >= seconds > 0 else ""
    ended = f"{found['ended']}: {found['detail']}" if found["detail"] else found["ended"]
    tried = counted(found["tried"], "candidate")
    lines = ["Search", f"  {tried} in {found['seconds']:.1f} s{rate}; ended: {ended}"]
    if found["held_out"]:
        held_out = counted(found["held_out"], "passing test")
        lines.append(f"  held out to validate the results: {held_out}")
    if found["plain_run"]:
        lines.append(f"  a plain run of the command with the first candidate: {found['plain_run']}")
    if found["refuted"]:
        lines.append(f"  a plain run refuted {counted(found['refuted'], 'other candidate')}")
    return [*lines, *(f"  {note}" for note in found["lanes"])]
