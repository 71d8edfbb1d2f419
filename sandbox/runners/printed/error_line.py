"""Detect lines that report an error, and choose the most informative one."""

import re
from collections.abc import Iterator, Sequence

_ERROR = re.compile(
    r"\b(?:[Ee]rror|ERROR|[Ff]atal|FATAL|FAILED|FAIL|[Ff]ailed|[Ff]ailure"
    r"|[Pp]anic(?:ked)?|[Aa]borted|[Kk]illed"
    r"|[Dd]enied"
    r"|[Uu]nauthorized|[Tt]raceback|[Cc]onflict|CONFLICT|[Cc]annot|[Uu]nable to|[Nn]ot found"
    r"|[Rr]efus(?:ed|ing)"
    r"|[Tt]imed out|[Nn]o such|[Ii]nvalid|[Mm]issing|[Dd]irty|[Ss]egmentation fault|core dumped"
    r"|[Cc]ancell?ed"
    r"|SIG[A-Z]{3,6})\b"
    r"|[A-Za-z](?:Error|Exception)\b"
)
_WIDER = re.compile(
    r"\b(?:[Tt]imeout|TIMEOUT|[Rr]ejected|[Uu]nexpected|[Uu]nresolved|unknown|Unknown|undefined"
    r"|Undefined|[Mm]ismatch(?:es|ed)?"
    r"|[Ff]orbidden|[Ii]ncompatible|[Ii]ncorrect|[Cc]orrupt(?:ed)?|[Ee]xceed(?:s|ed)|[Ee]xpired"
    r"|[Bb]roken"
    r"|[Uu]nreachable|[Cc]rash(?:ed)?|[Vv]iolat(?:es|ed|ions?)|not ok|[Oo]ut of memory|took (?:>"
    r"|longer|more) ?\S+"
    r"|(?:returning|returned|rc=) ?[1-9]\d{0,2}"
    r")\b"
    # An API response: JSON with an error, or with a status of 400 or more.
    r'|"(?:error|errors|error_description|documentation_url)" ?:'
    r'|"(?:status|code|statusCode|status_code)" ?: ?"?(?:[45]\d\d\b|[Ff]ail)'
    r"|\bHTTP(?:/[\d.]{1,4})? [45]\d\d\b"
    # Crosses in front of failed tests.
    r"|^ {0,8}[\u2715\u2716\u2717\u2718\u274c\u00d7] "
)
"""Less certain words: they indicate a finding, and are the error message only if nothing else is.
"""
_WORDS = (
    "error", "fatal", "fail", "panic", "abort", "kill", "denied", "unauthorized", "traceback",
    "conflict", "cannot",
    "unable", "not found", "refus", "timed out", "no such", "invalid", "missing", "dirty",
    "segmentation",
    "core dumped", "cancel", "sig", "exception", "exit", "interrupt", "____", "##[", "timeout",
    "reject",
    "unexpected", "unresolved", "unknown", "undefined", "mismatch", "forbidden", "incompatible",
    "incorrect",
    "corrupt", "exceed", "expired", "broken", "unreachable", "crash", "violat", "not ok",
    "out of memory", "took ",
    "returning", "returned", "rc=", "documentation_url", '"status', '"code"', "http",
    "\u2715", "\u2716", "\u2717", "\u2718", "\u274c", "\u00d7",
)  # fmt: skip
"""A line without one of these words needs no closer look."""
_STRONG = re.compile(
    r"^(?:##\[error\](?!Process completed with exit code|\[OSDC\]|Executing the custom container)"
    r"|(?:FAILED|ERROR) [\w./-]{1,300}\.py\b"
    r"|_{3,} .{1,300} _{3,}$"
    r"|(?:FAIL|ERROR): \S{1,300} \("
    r"|[\w.]{1,150}(?:Error|Exception|Exit|Interrupt|Failure)(?:: |$)"
    r"|(?:\S{1,60}: )?(?:fatal|error|ERROR|Error)(?:\[\w{1,20}\])?: "
    r"| {0,4}(?:ERROR|Error|E {3})[: ]"
    r"|\S.{0,300}[:)] ?(?:fatal )?error(?: \w{1,10})?: "
    r"|Error response from daemon"
    r"|.{0,200} failed!)"
)
_NOISE = re.compile(
    r"^(?:\+{1,4} |#|\[command\]|##\[(?:group|command|debug|warning|notice)\]|[A-Z_]{3,60}[=:] )"
    r"|continue-on-error|if-no-files-found|fail-fast|\b0 (?:errors?|failed|failures)\b"
    r"|no errors?\b|-Werror"
    r"|^(?:Cache|Compilation|Failed|Non-)[\w ()/+]{0,40} {2,}\d|(?:passed|PASSED"
    r"|ok)(?: \[.{0,30}\])?$"
    r"|unraisableexception|DeprecationWarning|UserWarning"
)
_HINT = re.compile(
    r"\b(?:[Ee]xpected|[Aa]ctual|[Rr]eceived|[Gg]ot|[Ww]anted|[Ii]nstead|should|must"
    r"|needs?|requires?|required|Required?|differs?"
    r"|[Dd]iffer(?:ent|ence)|larger|smaller|below|above|over|less than|more than|lacks?|[Uu]nused"
    r"|[Dd]uplicated?"
    r"|[Oo]utdated|stale|would|[Ww]arning|WARN|never|nowhere|not|no|doesn't|don't|isn't|can't"
    r"|won't|disallowed"
    r"|deprecated|changed|typo|budget|limit|threshold)\b"
    r"|^[ \t]{0,12}[\w./@+-]{1,200}\.\w{1,10}:\d{1,7}\b|\b[A-Z]{1,8}\d{2,5}\b|\b[45]\d\d\b"
    r"|\^{2,}|~{3,}|<--|->|=>|==>|!|^[-+](?![-+])|^@@ "
)
"""Words, places and signs of a finding without a word for an error."""
_GREEN = re.compile(
    r"^[ \t]{0,12}(?:(?:PASSED|PASS|SKIPPED|XFAIL|SUCCESS|OK)\b|ok \d|--- PASS|\[ {0,4}(?:OK"
    r"|PASSED) {0,4}\]"
    r"|[\u2713\u2714\u221a] )"
    r"| (?:PASSED|XFAIL|SKIPPED(?: \(.{1,100}\))?)(?: +\[ {0,3}\d{1,3}%\])?$"
)
_HARMLESS = re.compile(r"^ERROR: pip's dependency resolver")
_LEFT = re.compile(r"^\+{1,4} exit [1-9]\d{0,2}$")
_RUNNER = re.compile(
    r"^##\[error\](?:Process completed with exit code|\[OSDC\]|Executing the custom container)"
)
_PARAGRAPH = 20
LOOKED_AT = 500
"""Number of characters of a line that are read."""


def find_errors(lines: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """Yield the indexes of error lines, and whether each is explicit."""
    for index, whole in enumerate(lines):
        line = whole[:LOOKED_AT]
        lowered = line.lower()
        if not any(word in lowered for word in _WORDS) or is_green(line):
            continue
        if _STRONG.match(line) and not _HARMLESS.match(line):
            yield index, True
        elif _LEFT.match(line) or (
            _has_error_word(line) and not _NOISE.search(line) and not _HARMLESS.match(line)
        ):
            yield index, False


def _has_error_word(line: str) -> bool:
    """Return True if a line has a word for an error, or one that often means an error."""
    return bool(_ERROR.search(line) or _WIDER.search(line))


def hints(line: str) -> bool:
    """Return True if a line may belong to a finding although it names no error."""
    return bool(_HINT.search(line[:LOOKED_AT])) and not (
        _NOISE.search(line[:LOOKED_AT]) or is_green(line)
    )


def is_green(line: str) -> bool:
    """Return True if a line reports a passed test, whose name can contain any word."""
    return bool(_GREEN.search(line[:LOOKED_AT]))


def is_exit_mark(line: str) -> bool:
    """Return True if a line only reports an exit status."""
    return bool(_RUNNER.match(line) or _LEFT.match(line))


def error_lines(lines: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the indexes of all error lines, and of the explicit ones."""
    found = list(find_errors(lines))
    return [index for index, _ in found], [index for index, plain in found if plain]


def best_error(lines: Sequence[str]) -> str:
    """Return the most informative error line; empty if there is none."""
    weak, strong = error_lines(lines)
    # The first explicit error counts; else the last one, which is nearest to the end.
    named = [index for index in weak if _ERROR.search(lines[index][:LOOKED_AT])]
    for index in (*strong, *reversed(named), *reversed(weak)):
        if is_exit_mark(lines[index]):
            continue
        return lines[index].removeprefix("##[error]").strip()[:LOOKED_AT]
    return _last_paragraph(lines)


def _last_paragraph(lines: Sequence[str]) -> str:
    """Return the first line of the last paragraph: it often explains an unnamed failure."""
    first = ""
    for line in reversed(lines[-_PARAGRAPH:]):
        if line.startswith("##["):
            continue
        if not line.strip():
            if first:
                break
            continue
        first = line
    return first.strip()[:LOOKED_AT]
