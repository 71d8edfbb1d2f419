"""Find the missing part of the job's environment: module, plugin, Python, service or secret.

Pure.
"""

import difflib
import re
import sys
from collections.abc import Collection

from bot.mission.failures.go_signatures import missing_go_part
from bot.mission.failures.node_signatures import missing_node_part
from bot.mission.failures.rust_signatures import missing_rust_part
from bot.mission.failures.signatures import (
    NO_NETWORK_OR_SERVICE,
    first_match,
    join_text,
    missing_modules,
    no_verdict,
)
from bot.mission.triage.values import Evidence
from sandbox.types import LogReading, Recipe, TestReport, TestResult, WorkspaceFacts

# pytest names the unknown option or fixture, but not the plugin that has it.
_PLUGIN_OF_OPTION = {
    "--cov": "pytest-cov",
    "--no-cov": "pytest-cov",
    "-n": "pytest-xdist",
    "--numprocesses": "pytest-xdist",
    "--dist": "pytest-xdist",
    "--asyncio-mode": "pytest-asyncio",
    "--timeout": "pytest-timeout",
    "--reruns": "pytest-rerunfailures",
    "--benchmark": "pytest-benchmark",
    "--randomly": "pytest-randomly",
    "--random-order": "pytest-random-order",
    "--ds": "pytest-django",
    "--reuse-db": "pytest-django",
    "--mypy": "pytest-mypy",
    "--html": "pytest-html",
    "--json-report": "pytest-json-report",
    "--snapshot": "syrupy",
    "--forked": "pytest-forked",
    "--count": "pytest-repeat",
    "--disable-socket": "pytest-socket",
    "--picked": "pytest-picked",
    "--splits": "pytest-split",
}
_PLUGIN_OF_FIXTURE = {
    "mocker": "pytest-mock",
    "benchmark": "pytest-benchmark",
    "httpx_mock": "pytest-httpx",
    "requests_mock": "requests-mock",
    "aiohttp_client": "pytest-aiohttp",
    "event_loop": "pytest-asyncio",
    "django_db_setup": "pytest-django",
    "db": "pytest-django",
    "admin_client": "pytest-django",
    "settings": "pytest-django",
    "faker": "Faker",
    "freezer": "pytest-freezer",
    "snapshot": "syrupy",
    "respx_mock": "respx",
    "httpserver": "pytest-httpserver",
    "qtbot": "pytest-qt",
    "data_regression": "pytest-regressions",
    "file_regression": "pytest-regressions",
    "subtests": "pytest-subtests",
    "postgresql": "pytest-postgresql",
    "mock_server": "pytest-mockserver",
}
_REFUSED_OPTION = re.compile(r"unrecognized arguments:? ([^\n]{1,300})")
_NO_FIXTURE = re.compile(r"fixture '(\w{1,100})' not found")
_NO_ASYNC = re.compile(r"async def functions are not natively supported")
_OF_PACKAGE = re.compile(
    rf"fixture '\w{{1,100}}' not found|No package metadata was found for \S+|{_NO_ASYNC.pattern}"
)
_NO_PLUGIN = re.compile(
    r"(?:Error importing plugin \"([\w.]{1,100})\"|Missing required plugins: ([^\n]{1,200}))"
)
_STDLIB_NAME = re.compile(r"(?:cannot import name '\w+' from|module) '(\w+)[\w.]*'")
_STDLIB_MODULE = re.compile(r"No module named '(\w+)")
_ONLY_IN_SOME = frozenset(
    (
        *(
            "zoneinfo",
            "graphlib",
            "tomllib",
            "distutils",
            "imp",
            "asynchat",
            "asyncore",
            "smtpd",
            "cgi",
        ),
        *("cgitb", "crypt", "telnetlib", "nntplib", "pipes", "imghdr", "sndhdr", "uu", "xdrlib"),
        *("msilib", "ossaudiodev", "spwd", "sunau", "audioop", "chunk", "aifc", "mailcap", "nis"),
        *("compression", "annotationlib"),
    )
)
"""Modules of the standard library that only some Pythons have."""
_OLD_TYPING = re.compile(
    r"unsupported operand type\(s\) for \|: '\w+' and|'\w*type' object is not subscriptable"
)
_KEY = re.compile(r"'([A-Z][A-Z0-9_]{2,60})'")
_KEY_WORD = re.compile(r"\b[A-Z][A-Z0-9_]{2,60}\b")
_FROM_ENVIRONMENT = re.compile(r"(?:<frozen os>|[/\\]os\.py)(?::\d+|\", line \d+)")
"""Traceback lines where `os.environ` raises."""
_SETS_VARIABLES = re.compile(
    r"setenv|delenv|putenv|environ\.(?:pop|update)|patch\.dict|environ\[[^\]]{1,80}\] = "
)
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]{0,30}_[A-Z0-9_]{1,60}\b")
"""Typical names of variables and secrets."""
_NO_NODE = re.compile(
    r"No such file or directory: '(?:\S{0,200}/)?(?:node|npm|npx)'"
    r"|\b(?:node|npm|npx): (?:command )?not found|\bnode_modules/"
)
"""Errors of tests that lack Node.js or one of its packages."""


def why_unbuildable(report: TestReport, facts: WorkspaceFacts) -> str | None:
    """Return the reason why a run proves nothing; None if it names failures.

    The reason names the missing part if it is known.

    Args:
        report: A red run.
        facts: Python and recipe.
    """
    reason = no_verdict(report)
    if reason is None:
        return None
    parts = [reason]
    if plugin := _plugin(f"{report.summary}\n{report.raw_output}"):
        parts.append(f"`{plugin}` is not installed")
    if python := _other_python(facts):
        parts.append(python)
    return "; ".join((*parts, *facts.recipe.obstacles[:3]))


def lacks_something(report: TestReport, before: Collection[str], facts: WorkspaceFacts) -> bool:
    """Return True if a run without a verdict names a module or plugin that is not installed.

    Args:
        report: A red run.
        before: The base commit's files; a module among them was removed and is not missing.
        facts: Python and recipe; a requirement that was left out may have any option of pytest.
    """
    text = f"{report.summary}\n{report.raw_output}"
    left_out = facts.recipe.python.left_out and _REFUSED_OPTION.search(text)
    return _plugin(text) is not None or bool(left_out or missing_modules(report, before))


def missing_part(
    red: TestReport, evidence: Evidence, facts: WorkspaceFacts, log: LogReading | None = None
) -> str | None:
    """Describe the missing part that explains every failure; None if some failure is unexplained.

    Args:
        red: A red run that names what failed.
        evidence: The files and the base commit.
        facts: Python and recipe.
        log: CI's log as read; the environment was complete there.
    """
    if not red.failures:
        return None
    if (left_out := _left_out(red, evidence, facts, log)) is not None:
        return left_out
    in_ci = _join_ci_text(log)
    python = _other_python(facts)
    if python and all(_speaks_of_python(f) and (f.error or "") not in in_ci for f in red.failures):
        return f"{python}, and {_who(red)} for want of it: {_line(red.failures[0])}"
    green_before = (
        evidence.base.checked and evidence.base.report is not None and evidence.base.report.success
    )
    # Green on the base commit here: then services and variables are not what is missing.
    obstacle = None if green_before else _obstacle(red, facts.recipe) or _variables(red)
    whole = _module(red, evidence, in_ci) or _plugins(red) or _other_parts(red) or obstacle
    return whole or _uncollected(red, evidence, in_ci)


def _left_out(
    red: TestReport, evidence: Evidence, facts: WorkspaceFacts, log: LogReading | None
) -> str | None:
    """Describe the requirements that were left out, if a failing test may need one of them.

    A package may have modules and fixtures of any name, so each missing one counts. Tests that
    also fail on the base commit, and that CI does not name, are not what the mission is about.
    """
    names = facts.recipe.python.left_out
    if not names:
        return None
    files = (*evidence.files, *evidence.base.files)
    ci_text = _join_ci_text(log)
    needing = [
        failure
        for failure in red.failures
        if _lacks_package(failure, missing_modules(red.with_(failures=(failure,)), files), ci_text)
    ]
    before = evidence.base.report.failing if evidence.base.report is not None else frozenset()
    in_ci = log.failing if log is not None else frozenset()
    asked = [
        failure
        for failure in needing
        if failure.name not in before or any(is_same_test(one, failure.name) for one in in_ci)
    ]
    if not asked and len(needing) < len(red.failures):
        return None
    shown = ", ".join(f"`{name}`" for name in names)
    first = (asked or needing)[0]
    return (
        f"a failing test needs a package that is missing, and {shown} could not be installed "
        f"here: `{first.name}` ({_line(first)})"
    )


def _lacks_package(failure: TestResult, modules: Collection[str], ci_text: str) -> bool:
    """Return True if a test misses a fixture, plugin, module or metadata that CI had."""
    if found := _OF_PACKAGE.search(join_text(failure)):
        return found[0] not in ci_text
    return any(f"No module named '{module}" not in ci_text for module in modules)


def is_same_test(in_ci: str, here: str) -> bool:
    """Return True if two names mean one test: CI's are relative to the step's working directory."""
    return here == in_ci or here.endswith(f"/{in_ci}") or in_ci.startswith(f"{here}::")


def _join_ci_text(log: LogReading | None) -> str:
    """Return all text of CI's log on the failure."""
    if log is None:
        return ""
    return "\n".join((log.error, log.excerpt, *(join_text(failure) for failure in log.failures)))


def _module(red: TestReport, evidence: Evidence, in_ci: str) -> str | None:
    """Describe modules that are neither installed nor in the checkout nor removed by the commit."""
    missing = missing_modules(red, (*evidence.files, *evidence.base.files))
    if not missing:
        return None
    names = ", ".join(f"`{m}`" for m in missing)
    verb = "is" if len(missing) == 1 else "are"
    since = ""
    if evidence.base.checked and evidence.base.report is not None and evidence.base.report.success:
        since = "; it is imported since this commit: declare it where the job installs from"
    elif all(f"No module named '{m}" in in_ci for m in missing):
        since = "; CI misses it too: declare it where the job installs from"
    elif not evidence.base.checked:
        since = (
            "; declare it where the job installs from, or write it if it belongs to this project"
        )
    return (
        f"the tests cannot be imported: {names} {verb} neither installed nor part of the "
        f"repository{since}"
    )


def _uncollected(red: TestReport, evidence: Evidence, in_ci: str) -> str | None:
    """Describe test files that lack a module that no edit can bring; other failures are left.

    While a file cannot be collected, no change makes the command green. Files that are like that on
    the base commit are left out of what has to be green.
    """
    before = evidence.base.report.failing if evidence.base.report is not None else frozenset()
    files = (*evidence.files, *evidence.base.files)
    broken = tuple(
        failure
        for failure in red.failures
        if "::" not in failure.name
        and failure.name not in before
        and missing_modules(red.with_(failures=(failure,)), files)
    )
    if not broken:
        return None
    names = ", ".join(f"`{failure.name}`" for failure in broken)
    return f"{_module(red.with_(failures=broken), evidence, in_ci)} ({names})"


def _plugins(red: TestReport) -> str | None:
    """Describe a pytest plugin whose fixtures or options every failing test needs."""
    wanted = [_plugin(join_text(failure)) for failure in red.failures]
    if not all(wanted):
        return None
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(filter(None, wanted)))
    return f"{_who(red)} for want of a pytest plugin that is not installed: {names}"


def _other_parts(red: TestReport) -> str | None:
    """Describe what of Node.js, Go or Rust every failing test lacks, such as a package."""
    packages = {name.partition("::")[0] for name in red.outcomes}
    wanted = [
        missing_node_part(text) or missing_go_part(text, packages) or missing_rust_part(text)
        for text in map(join_text, red.failures)
    ]
    if not all(wanted):
        return None
    names = ", ".join(dict.fromkeys(filter(None, wanted)))
    return f"{_who(red)} because a part of the environment is missing: {names}"


def _plugin(text: str) -> str | None:
    """Return the plugin that a text misses."""
    if found := _NO_PLUGIN.search(text):
        return (found[1] or found[2]).strip()
    if found := _REFUSED_OPTION.search(text):
        options = (word.split("=", maxsplit=1)[0] for word in found[1].split())
        return next(
            (p for o in options for start, p in _PLUGIN_OF_OPTION.items() if _is_option(o, start)),
            None,
        )
    if found := _NO_FIXTURE.search(text):
        return _PLUGIN_OF_FIXTURE.get(found[1])
    return "pytest-asyncio" if _NO_ASYNC.search(text) else None


def _is_option(option: str, start: str) -> bool:
    return option == start or (start.startswith("--") and option.startswith(f"{start}-"))


def _other_python(facts: WorkspaceFacts) -> str | None:
    """Describe a Python version other than the job's."""
    wanted, used = facts.recipe.python.version, facts.interpreter.removeprefix("Python ")
    if wanted is None or not used or f"{used}.".startswith(f"{wanted}."):
        return None
    return f"the job needs Python {wanted}, and only Python {used} could be had"


def _speaks_of_python(failure: TestResult) -> bool:
    """Return True if a failure looks like the wrong version of Python."""
    text = join_text(failure)
    if failure.error in {"SyntaxError", "IndentationError"}:
        return True
    if (found := _STDLIB_MODULE.search(text)) and found[1] in _ONLY_IN_SOME:
        return True
    if found := _STDLIB_NAME.search(text):
        return found[1] in sys.stdlib_module_names
    return bool(_OLD_TYPING.search(text))


def _obstacle(red: TestReport, recipe: Recipe) -> str | None:
    """Describe the recipe's obstacle that fits every failing test, or unreachable services."""
    services = [f"service `{service}`, which is not started here" for service in recipe.services]
    for obstacle in (*recipe.obstacles, *services):
        if all(_fits(failure, obstacle) for failure in red.failures):
            return f"{_who(red)} for want of a part of the job that is not here: {obstacle}"
    return None


def _variables(red: TestReport) -> str | None:
    """Describe environment variables that every failing test reads and nothing sets."""
    wanted = [_unset_variable(failure) for failure in red.failures]
    if not all(wanted):
        return None
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(filter(None, wanted)))
    return f"{_who(red)} for want of variables of the environment that nothing sets here: {names}"


def _unset_variable(failure: TestResult) -> str | None:
    """Return the variable that a test needs.

    None if the test itself sets or removes it, or one with a similar name.
    """
    text = failure.traceback or ""
    found = _KEY.fullmatch((failure.error_message or "").removeprefix("KeyError:").strip())
    if failure.error != "KeyError" or found is None or not _FROM_ENVIRONMENT.search(text):
        return None
    name = found[1]
    # A misspelled or removed variable is a bug of the repository, not of the environment.
    set_by_test = any(name in line for line in text.splitlines() if _SETS_VARIABLES.search(line))
    others = set(_KEY_WORD.findall(text)) - {name}
    return (
        None if set_by_test or difflib.get_close_matches(name, others, n=1, cutoff=0.75) else name
    )


def _fits(failure: TestResult, obstacle: str) -> bool:
    """Return True if a failure names an obstacle, or could not connect to a missing service."""
    text = join_text(failure)
    if any(name in text for name in _VARIABLE.findall(obstacle)):
        return True
    if "Node.js" in obstacle and _NO_NODE.search(text):
        return True
    return "service" in obstacle.lower() and first_match(NO_NETWORK_OR_SERVICE, text) is not None


def _who(red: TestReport) -> str:
    """Return the failing tests as the subject of a sentence."""
    return (
        "the failing test fails"
        if len(red.failing) == 1
        else f"all {len(red.failing)} failing tests fail"
    )


def _line(failure: TestResult) -> str:
    """Return the first line of a failure's message."""
    said = next(
        (line.strip() for line in (failure.error_message or "").splitlines() if line.strip()), ""
    )
    return f"{failure.error or 'failed'}: {said}"[:200]
