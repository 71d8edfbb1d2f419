"""Output of the programs of pre-commit-hooks, for commands that run one of them.

They are too general for the logs of unknown tools.
"""

import re

from sandbox.runners.matchers.compilers import PRE_COMMIT
from sandbox.runners.matchers.engine import Matcher

_SOURCE = "printed by pre-commit-hooks 6.0"
_FILE = r"(?P<file>[^:\n]{1,400})"
_REWRITTEN = Matcher(
    tool="pre-commit-hooks",
    source=_SOURCE,
    patterns=(re.compile(rf"^(?:Fixing|Rewriting|Sorting|Fixed|Reordering imports in) {_FILE}$"),),
    rule="fixed",
    message="the hook changes the file",
)
_CHANGED = _REWRITTEN._replace(
    patterns=(
        re.compile(
            rf"^{_FILE}: (?:(?:fixed )?mixed line endings|removed byte-order marker"
            r"|Rewriting\.\.\.)$"
        ),
    )
)
_PLACED = Matcher(
    tool="pre-commit-hooks",
    source=_SOURCE,
    patterns=(
        re.compile(
            rf"^{_FILE}:(?P<line>\d{{1,7}}):(?:(?P<column>\d{{1,7}}):)? ?(?P<message>.{{1,1000}})$"
        ),
    ),
    rule="hook",
)
_DATA = _PLACED._replace(
    patterns=(
        re.compile(
            rf"^{_FILE}: (?P<message>.{{1,600}}?\bline (?P<line>\d{{1,7}}),? column "
            r"(?P<column>\d{1,7}).{0,200})$"
        ),
    )
)
_XML = _PLACED._replace(
    patterns=(
        re.compile(
            rf"^{_FILE}: (?P<message>Failed to xml parse \(.{{1,400}}?:(?P<line>\d{{1,7}}):"
            r"(?P<column>\d{1,7}): .{1,400})$"
        ),
    )
)
_YAML = _PLACED._replace(
    patterns=(
        re.compile(
            r'^ {2}in "(?P<file>[^"\n]{1,400})", line (?P<line>\d{1,7}), column (?P<column>\d{1,7})'
            r"(?::.*)?$"
        ),
    ),
    message="it is not valid YAML",
)
_NAMED = _PLACED._replace(
    patterns=(re.compile(rf"^Private key found: {_FILE}$"),),
    message="a private key",
)
_EXECUTABLE = _PLACED._replace(
    patterns=(re.compile(rf"^{_FILE}: (?P<message>marked executable .{{1,200}})$"),)
)
_NOT_MATCHING = _PLACED._replace(
    patterns=(re.compile(r"^(?P<file>\S{1,400}) (?P<message>does not match pattern .{1,200})$"),)
)

REWRITES = (PRE_COMMIT, _REWRITTEN, _CHANGED)
CHECKS = (_XML, _DATA, _PLACED, _YAML, _NAMED, _EXECUTABLE, _NOT_MATCHING)
REWRITING_HOOKS = (
    *("blacken-docs", "double-quote-string-fixer", "end-of-file-fixer", "file-contents-sorter"),
    *("fix-byte-order-marker", "mixed-line-ending", "requirements-txt-fixer", "sort-simple-yaml"),
    *("reorder-python-imports", "setup-cfg-fmt", "trailing-whitespace-fixer"),
)
"""Programs that change the files and name them."""
CHECKING_HOOKS = (
    *("check-builtin-literals", "check-docstring-first", "check-json", "check-merge-conflict"),
    *("check-toml", "check-vcs-permalinks", "check-xml", "check-yaml", "debug-statement-hook"),
    *("detect-private-key", "name-tests-test", "check-executables-have-shebangs"),
    "pre_commit.languages.pygrep",
)
