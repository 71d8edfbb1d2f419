"""Output formats of compilers, linters and formatters for JavaScript and TypeScript."""

import re

from sandbox.runners.matchers.engine import Matcher

_ANY_PATH = r"(?P<file>(?:[A-Za-z]:)?[^\s:][^:\n]{0,400}?)"
"""Also with the parentheses of a route group of Next.js: what follows it is unmistakable."""

TSC = Matcher(
    tool="tsc",
    source="printed by tsc 5; the shape of VS Code's $tsc",
    patterns=(
        re.compile(
            rf"^{_ANY_PATH}\((?P<line>\d{{1,7}}),(?P<column>\d{{1,7}})\): (?P<severity>error"
            rf"|warning|info) "
            r"(?P<rule>TS\d{1,6}): (?P<message>.{1,1000})$"
        ),
    ),
)
TSC_PRETTY = Matcher(
    tool="tsc",
    source="printed by tsc 5 --pretty",
    patterns=(
        re.compile(
            rf"^{_ANY_PATH}:(?P<line>\d{{1,7}}):(?P<column>\d{{1,7}}) - (?P<severity>error"
            rf"|warning|message) "
            r"(?P<rule>TS\d{1,6}): (?P<message>.{1,1000})$"
        ),
    ),
)
ESLINT_STYLISH = Matcher(
    tool="eslint",
    source=(
        "printed by eslint 8, stylish; the shape of VS Code's $eslint-stylish; yamllint prints "
        "the same, stylelint 18 with signs for severities"
    ),
    patterns=(
        re.compile(r"^(?P<file>(?:[A-Za-z]:\\|/|\./)?[^\s:][^:\n]{0,400}\.\w{1,10})$"),
        re.compile(
            r"^ {1,8}(?P<line>\d{1,7}):(?P<column>\d{1,7}) {1,12}(?P<severity>error|warning"
            r"|info|[✖\u00d7⚠‼\u2139]) {1,12}"
            r"(?P<message>\S.{0,1000}?)(?: {2,400}(?P<rule>[\w@/().:-]{1,100}))?$"
        ),
    ),
    loop=True,
)
ESLINT_UNIX = Matcher(
    tool="eslint",
    source="printed by eslint 8, unix, and by oxlint 1.94",
    patterns=(
        re.compile(
            rf"^{_ANY_PATH}:(?P<line>\d{{1,7}}):(?P<column>\d{{1,7}}): (?P<message>.{{1,1000}}) "
            r"\[(?P<severity>Error|Warning)/?(?:[\w@-]{1,60}\()?(?P<rule>[\w@/-]{0,100})\)?\]$"
        ),
    ),
)
ESLINT_COMPACT = Matcher(
    tool="eslint",
    source="printed by eslint 8, compact; the shape of VS Code's $eslint-compact",
    patterns=(
        re.compile(
            rf"^{_ANY_PATH}: line (?P<line>\d{{1,7}}), col (?P<column>\d{{1,7}}), "
            rf"(?P<severity>Error|Warning|Info) - "
            r"(?P<message>.{1,1000}?)(?: \((?P<rule>[\w@/-]{1,100})\))?$"
        ),
    ),
)
PRETTIER = Matcher(
    tool="prettier",
    source="printed by prettier 3 --check",
    patterns=(re.compile(r"^\[warn\] (?P<file>[^\s\[].{0,400}\.\w{1,12})$"),),
    rule="format",
    message="the file is not formatted",
)
PRETTIER_SYNTAX = Matcher(
    tool="prettier",
    source="printed by prettier 3 for files that do not parse",
    patterns=(
        re.compile(
            r"^\[error\] (?P<file>[^:\n]{1,400}): SyntaxError: (?P<message>.{1,600}) "
            r"\((?P<line>\d{1,7}):(?P<column>\d{1,7})\)$"
        ),
    ),
    rule="syntax",
)
STANDARD = Matcher(
    tool="standard",
    source="printed by standard 17",
    patterns=(
        re.compile(
            r"^ {2}(?P<file>[^\s:][^:\n]{0,400}\.\w{1,12}):(?P<line>\d{1,7}):(?P<column>\d{1,7}): "
            r"(?P<message>.{1,1000}?)(?: \((?P<rule>[\w@/-]{1,100})\))?"
            r"(?: \((?P<severity>warning)\))?$"
        ),
    ),
)
BIOME = Matcher(
    tool="biome",
    source="printed by biome 2.6",
    patterns=(
        re.compile(
            r"^(?P<file>[^\s:][^:\n]{0,400}?)(?::(?P<line>\d{1,7}):(?P<column>\d{1,7}))? "
            r"(?P<rule>[a-z]\w{0,60}(?:/\w{1,100}){0,3})(?: {1,2}[A-Z]{4,20}){0,3} {1,3}━{3,200}$"
        ),
        re.compile(r"^ {0,4}$"),
        re.compile(r"^ {2}(?P<severity>[\u00d7✖⚠\u2139!i]) (?P<message>\S.{0,1000})$"),
    ),
)
OXLINT = Matcher(
    tool="oxlint",
    source="printed by oxlint 1.94, default format",
    patterns=(
        re.compile(
            r"^ {2}(?P<severity>[\u00d7✖⚠!x]) (?:[\w@-]{1,60}\((?P<rule>[\w@/-]{1,100})\): )?"
            r"(?P<message>\S.{0,1000})$"
        ),
        re.compile(
            r"^ {2,12}(?:,-|╭─)\[(?P<file>[^\]:\n]{1,400}):(?P<line>\d{1,7}):(?P<column>\d{1,7})\]$"
        ),
    ),
)

SVELTE_CHECK = Matcher(
    tool="svelte-check",
    source="printed by svelte-check 4",
    patterns=(
        re.compile(rf"^{_ANY_PATH}:(?P<line>\d{{1,7}}):(?P<column>\d{{1,7}})$"),
        re.compile(
            r"^(?P<severity>Error|Warn|Hint): (?P<message>.{1,1000}?)(?: \((?P<rule>\w{1,20})\))?$"
        ),
    ),
    rule="svelte",
)
ASTRO = Matcher(
    tool="astro",
    source="documented by @astrojs/check",
    patterns=(
        re.compile(
            rf"^{_ANY_PATH}:(?P<line>\d{{1,7}}):(?P<column>\d{{1,7}}) - (?P<severity>error"
            r"|warning|hint) \w{1,20}\((?P<rule>\w{1,60})\): (?P<message>.{1,1000})$"
        ),
    ),
)
CSPELL = Matcher(
    tool="cspell",
    source="printed by cspell 9",
    patterns=(
        re.compile(
            rf"^{_ANY_PATH}:(?P<line>\d{{1,7}}):(?P<column>\d{{1,7}}) - "
            r"(?P<message>(?:Unknown|Forbidden) word .{1,400})$"
        ),
    ),
    rule="spelling",
)

ALL = (
    TSC, TSC_PRETTY, ESLINT_STYLISH, ESLINT_UNIX, ESLINT_COMPACT, PRETTIER, PRETTIER_SYNTAX,
    STANDARD, BIOME, OXLINT, SVELTE_CHECK, ASTRO, CSPELL,
)  # fmt: skip
