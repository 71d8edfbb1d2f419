"""Run `go test` with our own program and read its signed records."""

import json
import posixpath
import re
import secrets
from collections import defaultdict
from collections.abc import Sequence

from pydantic import Field

from sandbox.guest.pytest_command import split_words
from sandbox.runners.any_command import find_start_error
from sandbox.runners.base import GuestPlaces, Invocation, RunnerReading, RunRequest, with_defaults
from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.go_output import describe_failure, describe_package, read_sections
from sandbox.runners.records import Record, RecordsForged, read_records, unpack_names
from sandbox.types import CommandResult, Frozen, TestResult, TestStatus
from sandbox.types.launchers import ASSIGNMENT

_KEY_BYTES = 16
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from sandbox.guest.go_entry import main; "
    "main()"
)
_VALUED_WORDS = """
run skip bench benchtime count coverprofile covermode coverpkg cpu parallel timeout tags ldflags
gcflags asmflags gccgoflags mod modfile overlay p vet shuffle outputdir blockprofile
blockprofilerate cpuprofile memprofile memprofilerate mutexprofile mutexprofilefraction trace
installsuffix pkgdir pgo buildmode buildvcs compiler
"""
_FLAG_WORDS = """
v race short cover failfast json a x work trimpath msan asan linkshared modcacherw benchmem fullpath
artifacts
"""
_VALUED = frozenset(_VALUED_WORDS.split())
"""Options of `go test` with a value, without those that run no tests or run them elsewhere."""
_FLAGS = frozenset(_FLAG_WORDS.split())
_LISTED = ("tags", "mod", "modfile", "race", "overlay", "msan", "asan")
"""Options that decide which files belong to a package."""
_SELECTING = frozenset({"run", "skip", "bench"})
_SHARE = 0.6
"""Share of the time limit after which Go itself ends a package and names the running tests."""
_VERBS = ("Accepts", "Returns", "Keeps", "Reads", "Handles", "Parses", "Joins", "Counts")
_OBJECTS = ("Value", "EmptyList", "OneEntry", "Limit", "ShortName", "Order")
_STATUS = {
    "p": TestStatus.PASS,
    "f": TestStatus.FAIL,
    "s": TestStatus.SKIP,
    "e": TestStatus.ERROR,
}


class GoTestCommand(Frozen):
    """A command line of `go test`."""

    program: str
    options: tuple[tuple[str, str | None], ...] = ()
    """Names with values; None for a flag without one."""
    packages: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    """Arguments of the test programs."""
    environment: dict[str, str] = Field(default_factory=dict)

    def without(self, *names: str) -> list[str]:
        """Return the options as words, except for some."""
        return [
            f"-{name}" if value is None else f"-{name}={value}"
            for name, value in self.options
            if name not in names
        ]

    def has(self, *names: str) -> bool:
        """Return True if one of the options is given."""
        return any(name in names for name, _ in self.options)


def split_go_test(command: str) -> GoTestCommand | None:
    """Return the parts of a command that only runs `go test`; None for any other."""
    words = list(split_words(command) or ())
    environment: dict[str, str] = {}
    while words and ASSIGNMENT.fullmatch(words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if words[1:2] != ["test"] or posixpath.basename(words[0]) != "go":
        return None
    return _split(words[0], words[2:], environment)


def _split(program: str, words: list[str], environment: dict[str, str]) -> GoTestCommand | None:
    options: list[tuple[str, str | None]] = []
    packages: list[str] = []
    is_closed = False
    while words:
        name, equals, value = words[0].lstrip("-").partition("=")
        name = name.removeprefix("test.")
        is_option = words[0].startswith("-")
        if not is_option and not is_closed:
            packages.append(words.pop(0))
            continue
        is_closed = bool(packages)
        if is_option and name in _VALUED and (equals or words[1:]):
            options.append((name, value if equals else words[1]))
            words = words[1 if equals else 2 :]
        elif is_option and name in _FLAGS:
            options.append((name, value if equals else None))
            words = words[1:]
        elif packages or name == "args":
            break
        else:
            return None  # an option of the test program, which may take the next word
    # Go reports no package's name for files, and adds no control test to them.
    if any(package.endswith(".go") for package in packages):
        return None
    return GoTestCommand(
        program=program,
        options=tuple(options),
        packages=tuple(packages),
        rest=tuple(words),
        environment=environment,
    )


class GoTest:
    """Recognises `go test`, also with variables before it."""

    @property
    def name(self) -> str:
        """Return `go test`."""
        return "go test"

    def recognises(self, command: str, /) -> bool:
        """Return True if this runner reads the command."""
        return split_go_test(command) is not None

    def prepare(self, request: RunRequest, places: GuestPlaces, /) -> Invocation:
        """Return what to start."""
        command = split_go_test(request.command)
        if command is None:
            raise ValueError("not a command of go test")
        key = secrets.token_bytes(_KEY_BYTES)
        packages = _packages(command, request.targets)
        control = "" if command.has("overlay") else _control_name()
        config = {
            "key": key.hex(),
            "control": control,
            "list": [command.program, "list", *_list_options(command), *packages],
            "test": [*_test_words(command, request, control), *packages, *command.rest],
        }
        library = f"{posixpath.dirname(places.guest_dir)}/lib"
        return Invocation(
            argv=(places.python, "-I", "-S", "-c", _START, library),
            environment=with_defaults(request, command.environment),
            stdin=json.dumps(config).encode(),
            key=key,
            control=control,
            checkout=places.checkout,
            folder=places.folder,
        )

    def read(
        self, request: RunRequest, invocation: Invocation, result: CommandResult, /
    ) -> RunnerReading:
        """Read the result of a run."""
        if missing := find_start_error(result):
            return RunnerReading(inconclusive=missing)
        try:
            records = list(read_records(result.results, invocation.key))
        except RecordsForged as error:
            return RunnerReading(ended=False, tampering=(str(error),))
        return _Session(invocation, result).read(records, request)


def _packages(command: GoTestCommand, targets: Sequence[str]) -> list[str]:
    """Return the packages of the requested tests, or those of the command."""
    named = [target.partition("::")[0] for target in targets]
    return list(dict.fromkeys(named)) or list(command.packages)


def _list_options(command: GoTestCommand) -> list[str]:
    others = {name for name, _ in command.options} - set(_LISTED)
    return command.without(*others)


def _control_name() -> str:
    """Return a plausible name of a test, new for every run."""
    return f"Test{secrets.choice(_VERBS)}{secrets.choice(_OBJECTS)}{secrets.randbelow(9000) + 1000}"


def _test_words(command: GoTestCommand, request: RunRequest, control: str) -> list[str]:
    """Return `go test` with its options: the command's, and those that the request asks for."""
    words = [command.program, "test", "-json"]
    dropped = ["json", "run"]
    own = [f"^{control}$"] if control else []
    if request.targets:
        dropped.append("skip")
        tests = {target.partition("::")[2].partition("/")[0] for target in request.targets}
        # A package without a test's name is run as a whole.
        chosen = [] if "" in tests else [f"^({'|'.join(map(re.escape, sorted(tests)))})$"]
    else:
        chosen = [value for name, value in command.options if name == "run" and value][-1:]
    # Without a selection, the control test runs with all others.
    words += [f"-run={'|'.join([*chosen, *own])}"] if chosen else []
    if request.order != "given":
        # Go has no reversed order: any other order shows a dependence.
        dropped.append("shuffle")
        words.append(f"-shuffle={request.seed + (request.order == 'reversed')}")
    if request.maxfail is not None:
        dropped.append("failfast")
        words += ["-failfast"] if request.maxfail == 1 else []
    if not command.has("count"):
        words.append("-count=1")
    if not command.has("timeout"):
        words.append(f"-timeout={max(request.wall_s * _SHARE, 1):.0f}s")
    return [*words, *command.without(*dropped)]


class _Session:
    """Collector of the records of one run.

    Args:
        invocation: How it was started.
        result: The result of the process.
    """

    def __init__(self, invocation: Invocation, result: CommandResult) -> None:
        self._paths = CheckoutPaths(root=invocation.checkout, folder=invocation.folder)
        self._control = invocation.control
        self._is_controlled = False
        self._controlled: set[str] = set()
        self._ended: set[str] = set()
        self._result = result
        self._sections = read_sections(result.stderr)
        self._folders: dict[str, str] = {}
        self._declared: list[str] = []
        self._tested: set[str] = set()
        """Packages that declare tests."""
        self._texts: dict[str, str] = {}
        self._results: defaultdict[str, dict[str, TestResult]] = defaultdict(dict)
        """By package, then by name."""
        self._inner: dict[str, TestResult] = {}
        """The first failed sub-test of each test; it ends before the test."""
        self._exit: int | None = None

    def read(self, records: Sequence[Record], request: RunRequest) -> RunnerReading:
        """Return the run as one value."""
        for record in records:
            self._take(record)
        command = split_go_test(request.command)
        is_whole = not request.targets and not (command and command.has(*_SELECTING))
        results = tuple(one for own in self._results.values() for one in own.values())
        return RunnerReading(
            results=results,
            collected=tuple(self._declared) if is_whole else (),
            session_status=self._exit,
            ended=self._exit is not None,
            inconclusive=self._find_gap() if results else _find_error(self._result),
        )

    def _find_gap(self) -> str:
        """Return what is missing for a PASS: a package's declared tests, end or control test."""
        packages = self._results.keys()
        if unknown := sorted(packages - self._folders.keys()):
            return f"`go list` did not name {unknown[0][:200]}"
        if unfinished := sorted(packages - self._ended):
            return f"the tests of {unfinished[0][:200]} did not end"
        tested = self._tested if self._is_controlled else set()
        missing = sorted(packages & tested - self._controlled)
        return f"the control test did not run in {missing[0][:200]}" if missing else ""

    def _take(self, record: Record) -> None:
        match record:
            case ["tests", str(packed)]:
                self._take_declared(unpack_names(packed))
            case ["controlled", str()]:
                self._is_controlled = True
            case ["fail", str(name), str(text)]:
                self._texts[name] = text
            case ["test", str(name), str(outcome), int(milliseconds)]:
                self._take_test(name, _STATUS.get(outcome, TestStatus.ERROR), milliseconds)
            case ["package", str(name), str(outcome), str(text)]:
                self._take_package(name, outcome, text)
            case ["exit", int(status)]:
                self._exit = status
            case _:
                pass

    def _take_declared(self, entries: Sequence[str]) -> None:
        for entry in entries:
            package, folder, test = ((*entry.split("\t"), "", ""))[:3]
            is_top = folder == self._paths.root
            self._folders[package] = "." if is_top else self._paths.relative(folder)
            if test:
                self._declared.append(f"{package}::{test}")
                self._tested.add(package)

    def _take_test(self, name: str, status: TestStatus, milliseconds: int) -> None:
        package, _, test = name.partition("::")
        if self._control and test == self._control:
            if status is TestStatus.PASS:
                self._controlled.add(package)
            return
        found = TestResult(
            name=name, status=status, duration_ms=milliseconds, test=test.partition("/")[0] or None
        )
        if status in {TestStatus.FAIL, TestStatus.ERROR}:
            folder = self._folders.get(package, ".")
            text = self._texts.get(name, "")
            failed = describe_failure(name, text, folder, self._paths)
            inner = self._inner.get(name)
            if inner is not None and failed.error_message is None:
                why = f"{inner.name.rpartition('/')[2]} failed: {inner.error_message or ''}"
                failed = failed.with_(error_message=why, file=inner.file, line=inner.line)
            found = failed.with_(status=status, duration_ms=milliseconds)
            self._inner.setdefault(name.rpartition("/")[0], inner or found)
        own = self._results[package]
        present = own.get(name)
        # With `-count=2` a test has two results.
        if present is None or present.status in {TestStatus.PASS, TestStatus.SKIP}:
            own[name] = found

    def _take_package(self, name: str, outcome: str, text: str) -> None:
        self._ended.add(name)
        own = self._results[name]
        bad = [one for one in own.values() if one.status in {TestStatus.FAIL, TestStatus.ERROR}]
        if outcome != "f":
            # A package without tests has passed if it can be built.
            if not own and name not in self._tested:
                own[name] = TestResult(name=name, status=TestStatus.PASS)
            return
        if not bad:
            own[name] = describe_package(name, text, self._sections, self._paths)
            return
        described = describe_failure(name, text, self._folders.get(name, "."), self._paths)
        for one in bad:
            if one.status is TestStatus.ERROR and one.error is None:
                more = described.with_(name=one.name, status=one.status, test=one.test)
                own[one.name] = more.with_(error=described.error or "Crash")


def _find_error(result: CommandResult) -> str:
    """Return why no test ran: Go's own error, else the last line that it printed."""
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    own = [line for line in lines if re.match(r"go: (?!downloading |warning: )", line)]
    why = next(iter(own or lines[-1:]), "")
    return f"no test ran: {why[:300]}" if why else "no test ran"
