"""Problem matchers: patterns over consecutive lines, in one pass."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sandbox.runners.findings import MAX_FINDINGS, MESSAGE_CHARACTERS, PrintedFinding

LINE_CHARACTERS = 2000
"""Longer lines are truncated before matching."""
_ERRORS = frozenset({"error", "fatal error", "fatal", "\u00d7", "✖", "x"})
_NOTES = frozenset({"note", "help", "info", "information", "message", "\u2139", "i"})
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]{0,20}[ -/]{0,4}[@-~]|\([A-Z0-9]|[=>]"
    r"|\]8;[^\x1b\x07\n]{0,400}(?:\x1b\\|\x07))"
)
"""Colours, and the marks around links."""


class Matcher(NamedTuple):
    """The output format of one tool."""

    tool: str
    source: str
    """The source of the format."""
    patterns: tuple[re.Pattern[str], ...]
    """One for each consecutive line. Groups: file, line, column, severity, rule, message."""
    loop: bool = False
    """The last pattern may match any number of lines."""
    rule: str = "error"
    """Default for findings without a rule."""
    severity: str = "error"
    message: str = ""
    more: re.Pattern[str] | None = None
    """Continuation lines of a finding whose rule has not appeared yet."""
    group: str = ""
    """Start of the names of rules on continuation lines."""


def plain_lines(text: str) -> list[str]:
    """Split a text into lines without colours, of limited length."""
    return [
        line[:LINE_CHARACTERS] for line in _ANSI.sub("", text).replace("\r\n", "\n").split("\n")
    ]


_MAY_BEGIN = re.compile(
    r".*?:|[A-Z]{1,4}\d{2,5} |[a-z]+(?:-[a-z]+)+ | {0,40}File \"|[Ww]ould reformat|\[warn\]"
    r"|Fix|Rewriting|Sorting |Reordering |reformatted|\S+ {2}\S| {2}in \"|\S+ does not match "
    r"|--- \S|[^━]{0,600}━{3}|\S+\.\w{1,12}(?: \(\d{1,9}ms\))?$| {2}[\u00d7✖⚠!x] "
)
"""Common start of every first line of a finding."""


class _Scan:
    """The state of one matcher."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher
        self._first = matcher.patterns[0]
        self._next = 0
        self._fields: dict[str, str] = {}
        self._open: PrintedFinding | None = None

    def take(self, line: str) -> tuple[bool, list[PrintedFinding]]:
        """Process a line. Return True if it belongs to this tool, and the completed findings."""
        found = self._advance(line)
        if found is not None:
            return True, self._emit(found)
        more = self._matcher.more
        if self._open is not None and more is not None and (match := more.match(line)):
            self._continue(match)
            return True, []
        return False, self.finish()

    @property
    def idle(self) -> bool:
        """Return True if no finding is incomplete."""
        return not self._next and self._open is None

    def may_begin(self, line: str) -> bool:
        """Return True if the line begins a finding of this tool."""
        return self._first.match(line) is not None

    def skip(self) -> list[PrintedFinding]:
        """Process a line of another tool, which ends any continuation."""
        self._next, self._fields = 0, {}
        return self.finish()

    def finish(self) -> list[PrintedFinding]:
        """Return the finding that was still open, at the end of the input."""
        found, self._open = self._open, None
        return [found] if found is not None else []

    def _advance(self, line: str) -> dict[str, str] | None:
        """Return the fields of a finding that this line completes."""
        patterns = self._matcher.patterns
        match = patterns[self._next].match(line)
        if match is None and self._next:
            self._next, self._fields = 0, {}
            match = patterns[0].match(line)
        if match is None:
            return None
        fields = {
            **self._fields,
            **{key: value for key, value in match.groupdict().items() if value},
        }
        last = self._next == len(patterns) - 1
        if not last:
            self._next, self._fields = self._next + 1, fields
            return None
        if not self._matcher.loop:
            self._next, self._fields = 0, {}
        return fields

    def _emit(self, fields: dict[str, str]) -> list[PrintedFinding]:
        before = self.finish()
        matcher = self._matcher
        finding = PrintedFinding(
            file=fields.get("file", ""),
            line=int(fields["line"]) if "line" in fields else None,
            column=int(fields["column"]) if "column" in fields else None,
            rule=fields.get("rule", "").strip("()") or matcher.rule,
            message=(fields.get("message", "") or matcher.message).strip()[:MESSAGE_CHARACTERS],
            severity=parse_severity(fields.get("severity", matcher.severity)),
        )
        if matcher.more is not None and "rule" not in fields:
            self._open = finding
            return before
        return [*before, finding]

    def _continue(self, match: re.Match[str]) -> None:
        if self._open is None:
            return
        fields = match.groupdict()
        rule = fields.get("rule") or ""
        rule = f"{self._matcher.group}{rule}" if rule else self._open.rule
        text = f"{self._open.message} {(fields.get('message') or '').strip()}".strip()
        self._open = self._open._replace(message=text[:MESSAGE_CHARACTERS], rule=rule)


def parse_severity(word: str) -> str:
    """Convert to `error`, `warning` or `note`."""
    lowered = word.lower().strip()
    if lowered in _NOTES:
        return "note"
    return "error" if lowered in _ERRORS else "warning"


def match_lines(matchers: Sequence[Matcher], lines: Iterable[str]) -> Iterator[PrintedFinding]:
    """Yield the findings in the lines; a line belongs to the first matcher that recognises it."""
    scans = [_Scan(matcher) for matcher in matchers]
    count = 0
    busy = False
    for line in lines:
        # Most lines start no finding: skip them before the expensive patterns.
        if not busy and _MAY_BEGIN.match(line) is None:
            continue
        taken = False
        for scan in scans:
            # An idle scan has nothing to end, and most first lines are not its own.
            if scan.idle and (taken or not scan.may_begin(line)):
                continue
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
