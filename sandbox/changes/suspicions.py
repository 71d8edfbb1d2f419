"""Patterns of lines that no honest fix adds (refused), and that it rarely adds (doubted)."""

import re
from enum import StrEnum

from sandbox.types import Frozen


class ConcernSeverity(StrEnum):
    """The consequence of a concern."""

    REFUSE = "refuse"
    DOUBT = "doubt"
    """Shown to the user, and lowers the confidence."""


class Concern(Frozen):
    """One reason not to trust an edit."""

    severity: ConcernSeverity
    rule: str
    path: str
    line: int | None = None
    message: str = ""


class LineRule(Frozen):
    """A pattern that must not occur more often than before."""

    severity: ConcernSeverity
    name: str
    message: str
    pattern: re.Pattern[str]


def _refuse(name: str, message: str, *patterns: str) -> LineRule:
    return LineRule(
        severity=ConcernSeverity.REFUSE,
        name=name,
        message=message,
        pattern=re.compile("|".join(patterns), re.MULTILINE),
    )


def _doubt(name: str, message: str, *patterns: str) -> LineRule:
    return LineRule(
        severity=ConcernSeverity.DOUBT,
        name=name,
        message=message,
        pattern=re.compile("|".join(patterns), re.MULTILINE),
    )


REACHING = frozenset({"process", "network", "introspection"})
"""Rules whose first match is refused in text that cannot be parsed as Python."""

LINE_RULES: tuple[LineRule, ...] = (
    _refuse(
        "suppression",
        "silences a checker",
        r"(?i:#\s{0,8}(?:noqa|nosec|type:\s{0,8}ignore))",
        r"(?i:#\s{0,8}(?:pyright|mypy|ruff|flake8|pyre)\s{0,8}[:-]\s{0,8}(?:ignore|noqa|fixme))",
        r"(?i:#\s{0,8}(?:pylint:\s{0,8}(?:disable|skip-file)|fmt:\s{0,8}(?:off|skip)"
        r"|pragma:\s{0,8}no\s{0,8}cover))",
        r"(?i:#\s{0,8}(?:mypy:\s{0,8}\w|isort:\s{0,8}skip|yapf:\s{0,8}disable|rubocop:disable"
        r"|shellcheck\s{1,8}disable))",
        r"(?://|/\*)\s{0,8}(?:eslint-disable|eslint\s|@ts-(?:ignore|nocheck|expect-error)"
        r"|tslint:disable|nolint)",
        r"(?://|/\*)\s{0,8}(?:noinspection|biome-ignore|prettier-ignore|(?:c8|istanbul"
        r"|v8)\s{1,8}ignore)",
        r"#!?\[(?:allow|expect)\(|@SuppressWarnings\b|\bno_type_check\b"
        r"|\bcast\(\s{0,8}(?:typing\.)?Any\b|\bas\s{1,8}any\b",
    ),
    _refuse(
        "skip",
        "skips a test or expects it to fail",
        r"\bpytest\.(?:skip|xfail|importorskip|exit)\b",
        r"\bmark\.(?:skip|skipif|xfail)\b",
        r"\b(?:unittest\.)?(?:skipIf|skipUnless|expectedFailure|SkipTest|skipTest)\b"
        r"|\bunittest\.skip\b",
        r"#\s{0,8}doctest:\s{0,8}\+SKIP|\bcollect_ignore(?:_glob)?\b|\b__test__\s{0,8}=",
        r"\b(?:it|test|describe)\.(?:skip|todo|only)\b|\b(?:xit|xdescribe)\s{0,8}\(",
    ),
    _refuse(
        "exit",
        "ends the process",
        r"\bos\.(?:_exit|abort)\b|\bfrom\s+os\s+import\b[^\n]{0,200}\b_exit\b",
        r"\bos\.kill(?:pg)?\s{0,8}\(|\bsignal\.(?:raise_signal|alarm)\b",
        r"\b(?:sys\.exit|SystemExit)\s{0,8}\(\s{0,8}(?:0|None|False)?\s{0,8}\)",
        r"\braise\s{1,8}SystemExit\s{0,8}$",
        r"(?<![\w.])(?:exit|quit)\s{0,8}\(\s{0,8}(?:0|None|False)?\s{0,8}\)"
        r"|\bprocess\.exit\s{0,8}\(\s{0,8}0?\s{0,8}\)",
        r"\bfaulthandler\._|\bctypes\.(?:CDLL|PyDLL|pythonapi)\b|(?<![\w.])breakpoint\s{0,8}\(",
    ),
    _refuse(
        "test-aware",
        "behaves differently while it is tested",
        r"PYTEST_|['\"]_CURRENT_TEST|_called_from_test",
        r"['\"](?:py\.?test|_pytest|unittest)['\"]\s{0,8}(?:not\s{1,8})?in\b"
        r"|\bargv\b[^\n]{0,40}py\.?test",
        r"\benviron(?:\.get\(|\[)\s{0,8}['\"](?:CI|GITHUB_ACTIONS|TOX_ENV_NAME|NOX_\w{1,20})['\"]",
        r"sys\.modules[^\n]{0,80}(?:pytest|unittest)",
        r"['\"](?:_?pytest|unittest)['\"]\s{0,8}(?:not\s{1,8})?in\s{1,8}sys\.modules",
        r"\b(?:import|from)\s{1,8}_pytest\b",
    ),
    _refuse(
        "hook",
        "hooks into the interpreter",
        r"\bdef\s{1,8}pytest_\w|\bpytest_plugins\b|\bhookimpl\b",
        r"\b(?:import|from)\s{1,8}(?:builtins|__main__|conftest|test_\w+|tests)\b",
        r"^[ \t]{0,80}(?:builtins|unittest|pytest|time|random|datetime|os|json"
        r"|math)\.[\w.]{1,80}\s{0,8}=(?!=)",
        r"\bsetattr\(\s{0,8}(?:builtins|unittest|pytest|time|random|datetime|os|sys|json|math)\b",
        r"\bthreading\.excepthook\b|\bsys\.(?:unraisablehook|monitoring|addaudithook"
        r"|displayhook)\b",
        r"\batexit\.register\b|\bsys\.(?:settrace|setprofile|excepthook|meta_path|path_hooks)\b",
    ),
    _refuse(
        "mock",
        "uses a mock object, which accepts everything",
        r"\bunittest\.mock\b|\bfrom\s{1,8}mock\b|\bMagicMock\b|\bmock\.ANY\b",
    ),
    _doubt(
        "silence",
        "silences warnings or logs",
        r"\bwarnings\.(?:simplefilter|filterwarnings)\s{0,8}\(\s{0,8}['\"]ignore"
        r"|\blogging\.disable\b|\b__debug__\b",
        r"\bgetattr\s{0,8}\(\s{0,8}(?:os|sys|builtins)\b",
    ),
    _doubt(
        "execution",
        "runs a string as code",
        r"(?<![\w.])(?:eval|exec|compile|__import__)\s{0,8}\(",
        r"\bimportlib\.import_module\b|\b(?:pickle|marshal)\.loads?\b",
    ),
    _doubt(
        "process",
        "starts a process",
        r"\bsubprocess\b|\bos\.(?:system|popen|fork|exec\w{1,3}|spawn\w{1,3})\b|\bpty\.spawn\b"
        r"|\bchild_process\b",
    ),
    _doubt(
        "network",
        "uses the network",
        r"\b(?:import|from)\s{1,8}(?:socket|urllib|requests|httpx|aiohttp|ftplib|smtplib"
        r"|telnetlib|http\.client)\b",
        r"\bsocket\.(?:socket|create_connection)\b|\burllib\.request\b|\brequests\.(?:get|post"
        r"|put)\b",
    ),
    _doubt(
        "introspection",
        "inspects its callers",
        r"\binspect\.(?:stack|currentframe)\b|\bsys\._getframe\b|\b__builtins__\b"
        r"|\bgc\.get_(?:objects|referrers)\b",
        r"\bctypes\b",
    ),
)
