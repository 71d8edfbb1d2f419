"""Output formats of formatters, and of linters for text, YAML and Dockerfiles."""

import re

from sandbox.runners.matchers.engine import Matcher

_PATH = r"(?P<file>[^\s:][^:\n]{0,400}?)"
_PLACE = rf"{_PATH}:(?P<line>\d{{1,7}})(?::(?P<column>\d{{1,7}}))?"
# A time of day looks like a place, but has no extension.
_NAMED_PLACE = (
    r"(?P<file>[^\s:][^:\n]{0,400}?\.\w{1,12}):(?P<line>\d{1,7})(?::(?P<column>\d{1,7}))?"
)
_UNFORMATTED = "the file is not formatted"


def _unformatted(tool: str, source: str, pattern: str, rule: str = "format") -> Matcher:
    """Return a matcher for lines that only name a file."""
    return Matcher(
        tool=tool,
        source=f"printed by {source}",
        patterns=(re.compile(pattern),),
        rule=rule,
        message=_UNFORMATTED,
    )


LISTED = _unformatted(
    "formatters",
    "gofmt -l, shfmt -l, prettier -l, rustfmt -l, terraform fmt, docformatter, oxfmt, dprint",
    r"^(?!---|\+\+\+)(?P<file>[^\s:][^:\n]{0,400}\.\w{1,12})(?: \(\d{1,9}ms\))?$",
)
DIFF = Matcher(
    tool="formatters",
    source="printed by black, isort, yapf, autopep8, ruff, shfmt, gofmt and go fix with -d",
    patterns=(
        re.compile(r"^--- \S.{0,800}$"),
        re.compile(
            r"^\+\+\+ (?:fixed/)?(?P<file>[^\s:(][^\t\n:(]{0,400}?\.\w{1,12})(?::after)?"
            r"(?:\t.{0,200}| \(\w{1,20}\))?$"
        ),
        re.compile(r"^@@ -(?P<line>\d{1,7})"),
    ),
    rule="format",
    message=_UNFORMATTED,
)
MDFORMAT = _unformatted(
    "mdformat",
    "mdformat 1.0 --check",
    r'^Error: File "(?P<file>[^"\n]{1,400})" is not formatted\.$',
)
TAPLO = _unformatted(
    "taplo",
    "taplo 0.9 fmt --check",
    r'^ERROR taplo:format_files: the file is not properly formatted path="(?P<file>[^"]{1,400})"',
)
DPRINT = _unformatted("dprint", "dprint 0.64 check", r"^from (?P<file>\S.{0,400}\.\w{1,12}):$")
AUTOFLAKE = _unformatted(
    "autoflake",
    "autoflake 2.4 --check",
    rf"^{_PATH}: (?P<message>Unused imports/variables detected)$",
    "unused",
)
TYPOS = Matcher(
    tool="typos",
    source="printed by typos 1.52, long format",
    patterns=(
        re.compile(r"^error: (?P<message>`.{1,200}` should be .{1,400})$"),
        re.compile(rf"^ {{1,8}}(?:╭▸|-->) {_PLACE}$"),
    ),
    rule="spelling",
)
MARKDOWNLINT = Matcher(
    tool="markdownlint",
    source="printed by markdownlint-cli 0.50 and markdownlint-cli2 0.22; before, no severity",
    patterns=(
        re.compile(
            rf"^{_NAMED_PLACE}(?: (?P<severity>error|warning))? "
            r"(?P<rule>[A-Z]{2,6}\d{1,4})(?:/[\w/-]{1,100})? (?P<message>.{1,1000})$"
        ),
    ),
)
RUMDL = Matcher(
    tool="rumdl",
    source="printed by rumdl 0.3",
    patterns=(
        re.compile(
            rf"^{_NAMED_PLACE}: \[(?P<rule>[A-Z]{{2,6}}\d{{1,4}})\] (?P<message>.{{1,1000}}?)"
            r"(?: \[\*\])?$"
        ),
    ),
)
HADOLINT = Matcher(
    tool="hadolint",
    source="printed by hadolint 2.15; before 1.19, no severity",
    patterns=(
        re.compile(
            rf"^{_PATH}:(?P<line>\d{{1,7}}) (?P<rule>(?:DL|SC)\d{{4}}) "
            # by default it fails for each of them
            r"(?:(?:error|warning|info|style): )?(?P<message>.{1,1000})$"
        ),
    ),
)
YAMLLINT = Matcher(
    tool="yamllint",
    source="printed by yamllint 1.38, -f parsable",
    patterns=(
        re.compile(
            rf"^{_NAMED_PLACE}: \[(?P<severity>error|warning)\] (?P<message>.{{1,1000}}?)"
            r"(?: \((?P<rule>[\w-]{1,60})\))?$"
        ),
    ),
)

KNIP = Matcher(
    tool="knip",
    source="printed by knip 5: names of exports and packages, with their places",
    patterns=(
        re.compile(
            r"^(?P<message>\S{1,200}) {2,}(?:[a-z][a-z ]{0,30} {2,})?"
            r"(?P<file>\S{1,400}?\.\w{1,12})(?::(?P<line>\d{1,7}):(?P<column>\d{1,7}))?$"
        ),
    ),
    rule="unused",
)
KNIP_FILES = LISTED._replace(tool="knip", rule="unused", message="the file is not used")

ALL = (MDFORMAT, TAPLO, DPRINT, AUTOFLAKE, TYPOS, MARKDOWNLINT, RUMDL, HADOLINT, YAMLLINT)
FOR_KNOWN_TOOLS = (LISTED, DIFF, KNIP, KNIP_FILES)
"""Formats that other programs print for other reasons; only a known command is read with them."""
