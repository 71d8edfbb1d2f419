"""Output formats of linters, formatters and type checkers for Python."""

import re

from sandbox.runners.matchers.engine import Matcher

_PATH = r"(?P<file>[^\s:][^:\n]{0,400})"
_MODULE = r"(?P<file>[^\s:][^:\n]{0,400}\.pyi?)"
_ARROW = re.compile(r"^ {1,12}--> (?P<file>[^:\n]{1,400}):(?P<line>\d{1,7}):(?P<column>\d{1,7})$")

RUFF = Matcher(
    tool="ruff",
    source="printed by ruff 0.17, --output-format concise; flake8 and pycodestyle print the same",
    patterns=(
        re.compile(
            rf"^{_PATH}:(?P<line>\d{{1,7}}):(?:(?P<column>\d{{1,7}}):)? "
            r"(?P<rule>[A-Z]{1,4}[0-9]{1,5}|invalid-syntax):? (?:\[\*\] )?(?P<message>.{1,1000})$"
        ),
    ),
)
RUFF_FULL = Matcher(
    tool="ruff",
    source="printed by ruff 0.17, --output-format full",
    patterns=(
        re.compile(
            r"^(?:error\[)?(?P<rule>[A-Z]{1,4}[0-9]{2,5}|invalid-syntax"
            r"|[a-z]+(?:-[a-z]+){1,6})\]?:? (?:\[\*\] )?"
            r"(?P<message>.{1,1000})$"
        ),
        _ARROW,
    ),
)
RUFF_PYLINT = Matcher(
    tool="ruff",
    source="printed by ruff 0.17, --output-format pylint",
    patterns=(
        re.compile(
            rf"^{_PATH}:(?P<line>\d{{1,7}}): \[(?P<rule>[A-Za-z0-9-]{{2,60}})\] "
            rf"(?P<message>.{{1,1000}})$"
        ),
    ),
)
UNFORMATTED = Matcher(
    tool="ruff format",
    source="printed by ruff 0.17, format --check",
    patterns=(re.compile(r"^unformatted: (?P<message>File would be reformatted)$"), _ARROW),
    rule="format",
)
PYLINT = Matcher(
    tool="pylint",
    source="printed by pylint 4, text reporter",
    patterns=(
        re.compile(
            rf"^{_PATH}:(?P<line>\d{{1,7}}):(?P<column>\d{{1,7}}): (?P<rule>[CRWEF]\d{{4}}): "
            rf"(?P<message>.{{1,1000}})$"
        ),
    ),
)
MYPY = Matcher(
    tool="mypy",
    source="printed by mypy 2.4, with and without --pretty, columns and codes",
    patterns=(
        re.compile(
            rf"^{_MODULE}:(?P<line>\d{{1,7}}): ?(?:(?P<column>\d{{1,7}}): )?(?P<severity>error"
            rf"|warning|note): "
            r"(?P<message>.{1,1000}?)(?:  \[(?P<rule>[\w-]{1,60})\])?$"
        ),
    ),
    more=re.compile(
        r"^(?![\s:]|Found \d|Success)(?P<message>.{0,1000}?)(?:(?:^|  )\[(?P<rule>[\w-]{1,60})\])?$"
    ),
)
MYPY_COLUMN = MYPY._replace(
    patterns=(
        re.compile(
            rf"^{_MODULE}:(?P<line>\d{{1,7}}):(?P<column>\d{{1,7}}): (?P<severity>error|warning"
            rf"|note): "
            r"(?P<message>.{1,1000}?)(?:  \[(?P<rule>[\w-]{1,60})\])?$"
        ),
    ),
)
PYRIGHT = Matcher(
    tool="pyright",
    source="printed by pyright 1.1.414; basedpyright prints the same",
    patterns=(
        re.compile(
            r"^ {0,8}(?P<file>[^\s:](?::\\)?[^:\n]{0,400}):(?P<line>\d{1,7}):(?P<column>\d{1,7})"
            r" - (?P<severity>error|warning|information): "
            r"(?P<message>.{1,1000}?)(?: \((?P<rule>report\w{1,60})\))?$"
        ),
    ),
    more=re.compile(
        r"^[ \u00a0]{4,16}(?P<message>[^\s\d].{0,1000}?)(?: \((?P<rule>report\w{1,60})\))?$"
    ),
)
TY = Matcher(
    tool="ty",
    source="printed by ty 0.0, concise",
    patterns=(
        re.compile(
            rf"^{_PATH}:(?P<line>\d{{1,7}}):(?P<column>\d{{1,7}}): (?P<severity>error|warning)"
            r"\[(?P<rule>[\w-]{1,60})\] (?P<message>.{1,1000})$"
        ),
    ),
)
TY_FULL = Matcher(
    tool="ty",
    source="printed by ty 0.0, full",
    patterns=(
        re.compile(
            r"^(?P<severity>error|warning)\[(?P<rule>[a-z]+(?:-[a-z]+){1,6})\]: "
            r"(?P<message>.{1,1000})$"
        ),
        _ARROW,
    ),
)
BLACK = Matcher(
    tool="black",
    source="printed by black 26 --check; ruff before 0.10 printed `Would reformat: `",
    patterns=(re.compile(r"^[Ww]ould reformat:? (?P<file>\S.{0,400})$"),),
    rule="format",
    message="the file is not formatted",
)
UNPARSED = Matcher(
    tool="black",
    source="printed by black 26 and ruff 0.17 for files that do not parse",
    patterns=(
        re.compile(
            # cargo says the same of its own files
            r"^error: (?:[Ff]ailed to parse (?!(?:lock file|manifest) at\b)|cannot (?:format"
            r"|parse:?) )(?P<file>[^:\n]{1,400}?):(?:(?P<line>\d{1,7}):)?"
            r"(?:(?P<column>\d{1,7}):)? ?(?P<message>.{0,1000})$"
        ),
    ),
    rule="syntax",
    message="the file cannot be parsed",
)
ISORT = Matcher(
    tool="isort",
    source="printed by isort 8 --check",
    patterns=(re.compile(r"^ERROR: (?P<file>.{1,400}?) Imports are incorrectly sorted"),),
    rule="imports",
    message="imports are not sorted",
)
CODESPELL = Matcher(
    tool="codespell",
    source="printed by codespell 2.4",
    patterns=(re.compile(rf"^{_PATH}:(?P<line>\d{{1,7}}): (?P<message>\S+ ==> \S.{{0,300}})$"),),
    rule="spelling",
)
LINTERS = (RUFF, RUFF_FULL, RUFF_PYLINT, UNPARSED)
TYPES = (MYPY, MYPY_COLUMN)
ALL = (
    PYLINT, RUFF, UNFORMATTED, TY_FULL, RUFF_FULL, TY, MYPY_COLUMN, MYPY, PYRIGHT, BLACK, UNPARSED,
    ISORT, CODESPELL,
    RUFF_PYLINT,
)  # fmt: skip
