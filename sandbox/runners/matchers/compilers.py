"""Output formats of compilers and related tools: C and C++, Go, Rust, Java, shell, workflows."""

import re

from sandbox.runners.matchers.engine import Matcher

_PATH = r"(?P<file>(?:[A-Za-z]:)?[^\s:(][^:(\n]{0,400})"

GCC = Matcher(
    tool="gcc",
    source=(
        "printed by gcc 12; the shape of VS Code's $gcc; clang prints the same, and shellcheck "
        "-f gcc"
    ),
    patterns=(
        re.compile(
            rf"^{_PATH}:(?P<line>\d{{1,7}}):(?:(?P<column>\d{{1,7}}):)? ?"
            r"(?P<severity>fatal error|error|warning|note): (?P<message>.{1,1000}?)"
            r"(?: \[(?P<rule>-W[\w=+-]{1,80}|-fpermissive|SC\d{4})(?:,-W[\w=+-]{1,80})?\])?$"
        ),
    ),
)
LINKER = Matcher(
    tool="gcc",
    source="GNU ld",
    patterns=(
        re.compile(
            rf"^(?:\S{{0,200}}ld: )?{_PATH}:(?:(?P<line>\d{{1,7}})|\(\.\w[\w.+]{{0,200}}\)): "
            r"(?P<message>(?:undefined reference to|multiple definition of) .{1,1000})$"
        ),
    ),
    rule="link",
)
MAKE = Matcher(
    tool="make",
    source="printed by GNU make 4.3",
    patterns=(
        re.compile(
            r"^(?:g?make(?:\[\d{1,4}\])?: )?\*\*\* "
            r"\[(?P<file>[^:\]\s]{1,400}):(?P<line>\d{1,7}): (?P<message>[^\]]{1,400})\] Error \d+"
        ),
    ),
    rule="make",
    severity="warning",
)
MSVC = Matcher(
    tool="msvc",
    source="the shape of VS Code's $msCompile; dotnet prints the same",
    patterns=(
        re.compile(
            rf"^ {{0,8}}{_PATH}\((?P<line>\d{{1,7}})(?:,(?P<column>\d{{1,7}}))?[\d,-]{{0,30}}\) ?: "
            r"(?P<severity>fatal error|error|warning|note"
            r"|message)(?: (?P<rule>[A-Z]{1,6}\d{2,6}))? ?: "
            r"(?P<message>.{1,1000})$"
        ),
    ),
)
GO = Matcher(
    tool="go",
    source="go build and go vet; the shape of VS Code's $go",
    patterns=(
        re.compile(
            r"^(?:vet: )?(?P<file>(?:[A-Za-z]:)?[^\s:][^:\n]{0,400}\.go):(?P<line>\d{1,7}):(?:"
            r"(?P<column>\d{1,7}):)? "
            r"(?P<message>.{1,1000}?)(?: \((?P<rule>[a-z]{2,30})\))?$"
        ),
    ),
    rule="go",
)
RUST = Matcher(
    tool="cargo",
    source="printed by cargo and clippy 1.95, human format",
    patterns=(
        re.compile(
            r"^(?P<severity>error|warning)(?:\[(?P<rule>E\d{4})\])?: (?P<message>.{1,1000})$"
        ),
        re.compile(r"^ {1,12}--> (?P<file>[^:\n]{1,400}):(?P<line>\d{1,7}):(?P<column>\d{1,7})$"),
    ),
    # Each finding of clippy links to its lint. Only the first of a lint repeats its attribute.
    more=re.compile(
        r"^(?:[ \d]{1,12}(?:[|=+~-]|:::)|note:|help:|\.{3})"
        r"(?:.{0,1900}/index\.html#(?P<rule>\w{1,80})$|)"
    ),
    group="clippy::",
)
RUST_SHORT = Matcher(
    tool="cargo",
    source="printed by cargo 1.95, --message-format short",
    patterns=(
        re.compile(
            r"^(?P<file>[^\s:][^:\n]{0,400}\.rs):(?P<line>\d{1,7}):(?P<column>\d{1,7}): "
            r"(?P<severity>error|warning)"
            r"(?:\[(?P<rule>E\d{4})\])?: (?P<message>.{1,1000})$"
        ),
    ),
)
RUSTFMT = Matcher(
    tool="rustfmt",
    source="printed by rustfmt 1.8 --check; before, `at line N:`",
    patterns=(re.compile(r"^Diff in (?P<file>.{1,400}?)(?: at line |:)(?P<line>\d{1,7}):$"),),
    rule="format",
    message="the file is not formatted",
)
JAVAC = Matcher(
    tool="javac",
    source="printed by javac 17",
    patterns=(
        re.compile(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:\n]{0,400}\.(?:java|kt|scala)):"
            r"(?P<line>\d{1,7})(?::(?P<column>\d{1,7}))?: "
            r"(?P<severity>error|warning): (?:\[(?P<rule>[\w-]{1,60})\] )?(?P<message>.{1,1000})$"
        ),
    ),
)
MAVEN = Matcher(
    tool="maven",
    source="maven-compiler-plugin",
    patterns=(
        re.compile(
            r"^\[(?P<severity>ERROR"
            r"|WARNING)\] (?P<file>(?:[A-Za-z]:)?[^\s:\[][^:\[\n]{0,400}\.\w{1,8}):"
            r"\[(?P<line>\d{1,7}),(?P<column>\d{1,7})\] (?:error: )?(?P<message>.{1,1000})$"
        ),
    ),
)
SHELLCHECK = Matcher(
    tool="shellcheck",
    source="printed by shellcheck 0.11, tty format",
    patterns=(
        re.compile(r"^In (?P<file>.{1,400}) line (?P<line>\d{1,7}):$"),
        re.compile(r"^.*$"),
        re.compile(
            r"^ {0,400}\^-{0,400}\^? ?(?:-- )?(?P<rule>SC\d{4})(?: \((?P<severity>error|warning"
            r"|info|style)\))?: "
            r"(?P<message>.{1,1000})$"
        ),
    ),
    loop=True,
)
ACTIONLINT = Matcher(
    tool="actionlint",
    source="actionlint's default and -oneline formats",
    patterns=(
        re.compile(
            r"^(?P<file>[^\s:][^:\n]{0,400}\.ya?ml):(?P<line>\d{1,7}):(?P<column>\d{1,7}): "
            # it lists every known label or property
            r"(?P<message>.{1,1900}) "
            r"\[(?P<rule>[a-z][a-z-]{2,40})\]$"
        ),
    ),
)
PRE_COMMIT = Matcher(
    tool="pre-commit",
    source="the fixers of pre-commit-hooks",
    patterns=(
        re.compile(
            r"^(?:Fixing(?: strings in)?|Fixed|Rewriting|reformatted) "
            r"(?P<file>[\w./@+$-]{1,400}\.\w{1,12})$"
        ),
    ),
    rule="fixed",
    message="the hook changes the file",
)
PYTHON_SYNTAX = Matcher(
    tool="python",
    source="compileall and py_compile of CPython",
    patterns=(
        re.compile(
            r'^(?:\*\*\* )? *(?:Sorry: )?.{0,20}File "(?P<file>[^"\n]{1,400})", line '
            r"(?P<line>\d{1,7})$"
        ),
        re.compile(r"^ {2,}\S.*$"),
        re.compile(r"^ {2,}\^.*$"),
        re.compile(r"^(?P<rule>(?:Syntax|Indentation|Tab)Error): (?P<message>.{1,1000})$"),
    ),
)

ALL = (
    RUST_SHORT, JAVAC, MAVEN, ACTIONLINT, SHELLCHECK, GCC, LINKER, MSVC, GO, RUST, RUSTFMT,
    PYTHON_SYNTAX, PRE_COMMIT,
    MAKE,
)  # fmt: skip
