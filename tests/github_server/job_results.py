"""What a finished job leaves behind: its conclusion, its steps and its annotations."""

import re

from tests.github_server.entities import Json
from tests.github_server.runner import JobLog, Outcome

COMMAND = re.compile(
    r"^::(?P<level>error|warning|notice)(?: (?P<options>[^:]*(?::(?!:)[^:]*)*))?::(?P<message>.*)$"
)
LEVELS = {"error": "failure", "warning": "warning", "notice": "notice"}


def forced(conclusion: str, log: JobLog, outcomes: list[Outcome]) -> str:
    """The conclusion the test planned for this run, written into the log and the last step."""
    if conclusion == "failure" and worst(outcomes) == "success":
        log.add("##[error]Process completed with exit code 1.")
    outcomes[-1].conclusion = "success" if conclusion == "success" else "failure"
    return conclusion


def worst(outcomes: list[Outcome]) -> str:
    """The job's conclusion."""
    found = {outcome.conclusion for outcome in outcomes}
    if "cancelled" in found:
        return "timed_out"
    return "failure" if "failure" in found else "success"


def step_json(number: int, name: str, status: str, conclusion: str | None, started: str) -> Json:
    completed = started if conclusion and conclusion != "skipped" else None
    begun = None if conclusion == "skipped" else started
    return {
        "name": name,
        "status": status,
        "conclusion": conclusion,
        "number": number,
        "started_at": begun,
        "completed_at": completed,
    }


def steps_json(outcomes: list[Outcome], now: str) -> list[Json]:
    """All steps of a finished job, with the ones every job has."""
    names = [("Set up job", "success"), ("Check out the commit", "success")]
    names += [(outcome.name, outcome.conclusion) for outcome in outcomes]
    names.append(("Complete job", "success"))
    return [
        step_json(number, name, "completed", result, now)
        for number, (name, result) in enumerate(names, 1)
    ]


def annotations(lines: list[str], outcomes: list[Outcome]) -> list[Json]:
    """Annotations from workflow commands in the log, and the exit status GitHub always adds."""
    found = [
        one for line in lines if (match := COMMAND.match(line)) and (one := _annotation(match))
    ]
    for outcome in outcomes:
        if outcome.conclusion == "failure":
            text = f"Process completed with exit code {outcome.status or 1}."
            found.append(_annotation_json(".github", 1, "failure", text, ""))
    return found[:50]


def _annotation(match: re.Match[str]) -> Json:
    options = dict(
        pair.split("=", 1) for pair in (match["options"] or "").split(",") if "=" in pair
    )
    line = options.get("line", "1")
    number = int(line) if line.isdigit() else 1
    return _annotation_json(
        options.get("file", ".github"),
        number,
        LEVELS[match["level"]],
        match["message"],
        options.get("title", ""),
    )


def _annotation_json(path: str, line: int, level: str, message: str, title: str) -> Json:
    return {
        "path": path,
        "start_line": line,
        "end_line": line,
        "start_column": None,
        "end_column": None,
        "annotation_level": level,
        "title": title,
        "message": message,
        "raw_details": "",
        "blob_href": "",
    }
