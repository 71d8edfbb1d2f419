"""Findings in machine-readable output: JSON, JSON lines, and workflow commands."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from sandbox.runners.findings import MAX_FINDINGS, MESSAGE_CHARACTERS, PrintedFinding
from sandbox.runners.matchers.engine import parse_severity

JSON_CHARACTERS = 400_000
_COMMAND = re.compile(
    r"^::(error|warning|notice) ([^:\n]{1,800}(?::(?!:)[^:\n]{0,800}){0,6})::(.{0,2000})$",
    re.MULTILINE,
)
_TITLE_RULE = re.compile(r"\(([\w@/-]{1,80})\)|^([A-Z]{1,4}\d{2,6})\b")
_LEADING_PLACE = re.compile(
    r"^[^\s:]{1,400}:\d{1,7}:(?:\d{1,7}:)? (?:[A-Z]{1,4}\d{2,6} |invalid-syntax: )?"
)
Entry = dict[str, Any]


def structured_findings(text: str) -> list[PrintedFinding]:
    """Return the findings of JSON or workflow commands in a text; empty if it has neither."""
    found: list[PrintedFinding] = []
    for document in _documents(text[:JSON_CHARACTERS]):
        for reader in READERS:
            found += _bound(reader(document), MAX_FINDINGS - len(found))
        if len(found) >= MAX_FINDINGS:
            break
    return found or list(_bound(_commands(text), MAX_FINDINGS))


def _bound(findings: Iterator[PrintedFinding], most: int) -> Iterator[PrintedFinding]:
    for _, finding in zip(range(max(0, most)), findings, strict=False):
        yield finding


def _documents(text: str) -> Iterator[Any]:
    """Yield the JSON document of a text, or the lines that are documents."""
    start = text.lstrip()
    if start.startswith(("[", "{")):
        try:
            document, end = json.JSONDecoder().raw_decode(start)
        except (ValueError, RecursionError):
            document, end = None, 0
        if document is not None:
            yield document
        text = start[end:]
    for line in text.split("\n"):
        if line.startswith(('{"', '[{"')):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                continue


def _commands(text: str) -> Iterator[PrintedFinding]:
    for level, properties, message in _COMMAND.findall(text):
        known = dict(part.split("=", 1) for part in properties.split(",") if "=" in part)
        if "file" not in known:
            continue
        title = known.get("title", "")
        rule = _TITLE_RULE.search(title)
        plain = _LEADING_PLACE.sub("", message.split("%0A", 1)[0])
        yield PrintedFinding(
            file=known["file"],
            line=_number(known.get("line")),
            column=_number(known.get("col")),
            rule=(rule.group(1) or rule.group(2)) if rule else "error",
            message=plain[:MESSAGE_CHARACTERS] or title,
            severity=parse_severity(level),
        )


def _ruff(document: Any) -> Iterator[PrintedFinding]:
    for entry in _entries(document):
        place = entry.get("location")
        if isinstance(place, dict) and "filename" in entry:
            yield _finding(
                entry.get("filename"),
                place.get("row"),
                entry.get("code") or "invalid-syntax",
                entry.get("message"),
            )


def _eslint(document: Any) -> Iterator[PrintedFinding]:
    for file in _entries(document):
        if "filePath" not in file:
            continue
        for entry in _entries(file.get("messages")):
            severity = "error" if entry.get("severity") != 1 else "warning"
            rule = entry.get("ruleId") or "error"
            yield _finding(
                file.get("filePath"), entry.get("line"), rule, entry.get("message"), severity
            )


def _pyright(document: Any) -> Iterator[PrintedFinding]:
    if not isinstance(document, dict):
        return
    for entry in _entries(document.get("generalDiagnostics")):
        start = (
            (entry.get("range") or {}).get("start")
            if isinstance(entry.get("range"), dict)
            else None
        )
        row = start.get("line") if isinstance(start, dict) else None
        line = row + 1 if isinstance(row, int) else None
        severity = str(entry.get("severity") or "error")
        yield _finding(
            entry.get("file"), line, entry.get("rule") or "error", entry.get("message"), severity
        )


def _mypy(document: Any) -> Iterator[PrintedFinding]:
    if isinstance(document, dict) and "severity" in document and "file" in document:
        severity = str(document.get("severity"))
        rule = document.get("code") or "error"
        yield _finding(
            document.get("file"), document.get("line"), rule, document.get("message"), severity
        )


def _pylint(document: Any) -> Iterator[PrintedFinding]:
    for entry in _entries(document):
        if "message-id" in entry and "path" in entry:
            yield _finding(
                entry.get("path"), entry.get("line"), entry.get("message-id"), entry.get("message")
            )


def _cargo(document: Any) -> Iterator[PrintedFinding]:
    message = document.get("message") if isinstance(document, dict) else None
    if not isinstance(message, dict) or document.get("reason") != "compiler-message":
        return
    code = message.get("code")
    rule = code.get("code") if isinstance(code, dict) else None
    for span in _entries(message.get("spans"))[:1]:
        level = str(message.get("level") or "error")
        yield _finding(
            span.get("file_name"),
            span.get("line_start"),
            rule or "error",
            message.get("message"),
            level,
        )


def _actionlint(document: Any) -> Iterator[PrintedFinding]:
    for entry in _entries(document):
        if "filepath" in entry and "kind" in entry:
            yield _finding(
                entry.get("filepath"), entry.get("line"), entry.get("kind"), entry.get("message")
            )


READERS: tuple[Callable[[Any], Iterator[PrintedFinding]], ...] = (
    _ruff, _eslint, _pyright, _mypy, _pylint, _cargo, _actionlint,
)  # fmt: skip


def _entries(value: Any) -> list[Entry]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _finding(  # noqa: PLR0917
    file: Any, line: Any, rule: Any, message: Any, severity: str = "error"
) -> PrintedFinding:
    return PrintedFinding(
        file=str(file or "")[:400],
        line=line if isinstance(line, int) and line > 0 else None,
        rule=str(rule or "error")[:100],
        message=" ".join(str(message or "").split())[:MESSAGE_CHARACTERS],
        severity=parse_severity(severity),
    )


def _number(text: str | None) -> int | None:
    return (
        int(text)
        if text is not None and text.isascii() and text.isdigit() and len(text) < 8  # noqa: PLR2004
        else None
    )
