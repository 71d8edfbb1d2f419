"""Problem matchers: patterns over consecutive lines, each line looked at once."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sandbox.runners.findings import MAX_FINDINGS, MESSAGE_CHARACTERS, Finding

LINE_CHARACTERS = 2000
"""Longer lines are cut before they are matched."""
_ERRORS = frozenset({"error", "fatal error", "fatal"})
_NOTES = frozenset({"note", "help", "info", "information", "message"})
_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\([A-Z0-9]|[=>])")


class Matcher(NamedTuple):
    """How one tool prints its findings."""

    tool: str
    source: str
    """Where the shape comes from."""
    patterns: tuple[re.Pattern[str], ...]
    """One per consecutive line. Groups: file, line, column, severity, rule, message."""
    loop: bool = False
    """The last pattern may match any number of lines."""
    rule: str = "error"
    """For findings whose line names none."""
    severity: str = "error"
    message: str = ""
    more: re.Pattern[str] | None = None
    """Lines that go on with a finding whose rule has not been seen yet."""


def plain_lines(text: str) -> list[str]:
    """The lines of a text without colours, of readable length."""
    return [line[:LINE_CHARACTERS] for line in _ANSI.sub("", text).replace("\r\n", "\n").split("\n")]


_MAY_BEGIN = re.compile(
    r".*?:|[A-Z]{1,4}\d{2,5} |[a-z]+(?:-[a-z]+)+ | {0,40}File \"|[Ww]ould reformat|\[warn\]"
    r"|Fix|Rewriting|reformatted|\S+\.\w{1,10}$"
)
"""What every first line of a finding looks like."""


class _Scan:
    """Where one matcher stands."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._next = 0
        self._fields: dict[str, str] = {}
        self._open: Finding | None = None

    def take(self, line: str) -> tuple[bool, list[Finding]]:
        """Look at a line; whether it tells something of this tool, and the findings that are complete now."""
        found = self._advance(line)
        if found is not None:
            return True, self._emit(found)
        more = self._matcher.more
        if self._open is not None and more is not None and (match := more.match(line)):
            self._go_on(match)
            return True, []
        return False, self.finish()

    @property
    def idle(self) -> bool:
        """Whether nothing waits for a line to come."""
        return not self._next and self._open is None

    def skip(self) -> list[Finding]:
        """A line that is another tool's: nothing goes on over it."""
        self._next, self._fields = 0, {}
        return self.finish()

    def finish(self) -> list[Finding]:
        """Nothing follows; the finding that was still open."""
        found, self._open = self._open, None
        return [found] if found is not None else []

    def _advance(self, line: str) -> dict[str, str] | None:
        """The fields of a finding that this line completes."""
        patterns = self._matcher.patterns
        match = patterns[self._next].match(line)
        if match is None and self._next:
            self._next, self._fields = 0, {}
            match = patterns[0].match(line)
        if match is None:
            return None
        fields = {**self._fields, **{key: value for key, value in match.groupdict().items() if value}}
        last = self._next == len(patterns) - 1
        if not last:
            self._next, self._fields = self._next + 1, fields
            return None
        if not self._matcher.loop:
            self._next, self._fields = 0, {}
        return fields

    def _emit(self, fields: dict[str, str]) -> list[Finding]:
        before = self.finish()
        matcher = self._matcher
        finding = Finding(
            file=fields.get("file", ""),
            line=int(fields["line"]) if "line" in fields else None,
            column=int(fields["column"]) if "column" in fields else None,
            rule=fields.get("rule", "").strip("()") or matcher.rule,
            message=(fields.get("message", "") or matcher.message).strip()[:MESSAGE_CHARACTERS],
            severity=severity_of(fields.get("severity", matcher.severity)),
        )
        if matcher.more is not None and "rule" not in fields:
            self._open = finding
            return before
        return [*before, finding]

    def _go_on(self, match: re.Match[str]) -> None:
        if self._open is None:
            return
        fields = match.groupdict()
        text = f"{self._open.message} {(fields.get('message') or '').strip()}".strip()
        self._open = self._open._replace(message=text[:MESSAGE_CHARACTERS], rule=fields.get("rule") or self._open.rule)


def severity_of(word: str) -> str:
    """One of `error`, `warning`, `note`."""
    lowered = word.lower().strip()
    if lowered in _NOTES:
        return "note"
    return "error" if lowered in _ERRORS else "warning"


def match_lines(matchers: Sequence[Matcher], lines: Iterable[str]) -> Iterator[Finding]:
    """The findings in the lines; a line belongs to the first matcher that knows it."""
    scans = [_Scan(matcher) for matcher in matchers]
    count = 0
    busy = False
    for line in lines:
        if not busy and _MAY_BEGIN.match(line) is None:
            continue
        taken = False
        for scan in scans:
            if taken:
                found = scan.skip()
            else:
                taken, found = scan.take(line)
            count += len(found)
            yield from found
        busy = any(not scan.idle for scan in scans)
        if count > 4 * MAX_FINDINGS:
            return
    for scan in scans:
        yield from scan.finish()
