"""Observe from outside the test process whether passing tests can fail.

Code in the process of a test can make it look passed. So the judge changes the tests' source on
disk and runs them again: copies that must pass have to pass, and copies that must fail have to
fail. Code that makes every test pass also passes a copy that must fail. Code that makes one test
pass, by its name, line or text, does not recognise the copy.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random, SystemRandom  # noqa: TID251 - hostile code must not guess the answers
from typing import Literal, TypeVar

from sandbox.backends.base import Guest
from sandbox.changes.edits import MAX_FILE_BYTES
from sandbox.changes.in_guest import executable_paths
from sandbox.changes.syntax import is_python
from sandbox.errors import ChangeRejected
from sandbox.known_answers import copies as python_copies
from sandbox.known_answers.copies import Copy, Qualname, Rewritten
from sandbox.languages import JAVASCRIPT, TYPESCRIPT, find_language
from sandbox.types import FileEdit, Frozen, RunVerdict, TestReport, TestStatus

MAX_FUNCTIONS = 12
"""Largest number of test functions observed in one run."""
MAX_SAMPLED = 3
"""Largest number of test functions observed if no test was named."""
MAX_CASES = 2
"""Largest number of parameter sets of one function that are run."""
FEW_FUNCTIONS = 2
"""Up to this number, each function gets two copies of each kind: a guess is then unlikely."""

RERUNS = 4
"""Runs of the originals after copies gave a wrong answer, to detect tests that pass by chance."""

Value = TypeVar("Value")
Run = Callable[[tuple[str, ...]], Awaitable[TestReport]]
"""Runs tests by name, without a limit on failures."""
Finding = Literal["confirmed", "forged", "tampered", "unconfirmed", "unsteady", "not copied"]


class KnownAnswers(Frozen):
    """The outcome of an observation."""

    finding: Finding
    test: str = ""
    """The test that gave a wrong answer, or the summary of a tampered run."""
    rerun: TestReport | None = None
    """A run of the same tests that did not pass."""
    not_copied: tuple[str, ...] = ()
    """Requested functions without a plain definition in their files."""
    copies: frozenset[str] = frozenset()
    """Names of the copies that ran beside the tests."""


async def observe(
    guest: Guest, run: Run, report: TestReport, *, targeted: bool, random: Random | None = None
) -> KnownAnswers:
    """Run copies of the tests that passed according to a report.

    Args:
        guest: The sandbox in which the tests ran; its files are the same afterwards.
        run: Runs tests in it.
        report: The run that passed.
        targeted: Whether the tests were named, so that all are copied; otherwise a sample is.
        random: Source of all random choices.

    Returns:
        `forged` if a copy that must fail passed, `tampered` if the run of copies contradicts
        itself, `unconfirmed` if a copy that must pass did not, `unsteady` if the originals failed
        in a further run, and `not copied` if no test could be copied.

    Raises:
        SandboxDied: The sandbox ended.
    """
    random = random or SystemRandom()
    passing = report.passing
    # In the order of the run: some tests pass in no other.
    names = tuple(name for name in report.outcomes if name in passing)
    most = MAX_FUNCTIONS if targeted else MAX_SAMPLED
    observation = _Observation(guest, run, _choose(names, most, random), random)
    missing = await observation.read()
    if len(missing) == len(observation.tests):
        return KnownAnswers(finding="not copied", not_copied=missing)
    answers = await observation.compare()
    if (
        answers.finding in {"forged", "unconfirmed"}
        and (red := await observation.rerun_originals()) is not None
    ):
        # A test that passes by chance must not make a fix look forged.
        answers = KnownAnswers(finding="unsteady", rerun=red)
    return answers.with_(not_copied=missing)


async def observe_together(
    guest: Guest,
    run: Run,
    targets: tuple[str, ...],
    *,
    copies_first: bool,
    random: Random | None = None,
) -> KnownAnswers:
    """Run tests and copies of them in one session, which costs no run more than the tests alone.

    Only `confirmed` counts. Otherwise run the tests alone and `observe` them: copies can disturb
    tests that run beside them.

    Args:
        guest: The sandbox; its files are the same afterwards.
        run: Runs tests in it.
        targets: The tests, in their order.
        copies_first: Name the copies before the tests.
        random: Source of all random choices.

    Raises:
        SandboxDied: The sandbox ended.
    """
    random = random or SystemRandom()
    observation = _Observation(guest, run, _choose(targets, MAX_FUNCTIONS, random), random)
    missing = await observation.read()
    if len(missing) == len(observation.tests):
        return KnownAnswers(finding="not copied", not_copied=missing)
    answers = await observation.compare_together(targets, copies_first=copies_first)
    return answers.with_(not_copied=missing)


class _Test(Frozen):
    """A test function and its parameter sets that passed."""

    path: str
    qualname: Qualname
    cases: tuple[str, ...]
    """Such as `[1-a]`; one empty string if the test has no parameters."""

    @property
    def name(self) -> str:
        """Return the node id, without parameters."""
        return "::".join((self.path, *self.qualname))


def can_copy(name: str) -> bool:
    """Return True if tests in the language of a file, or of a test's file, can be copied."""
    path = name.partition("::")[0]
    return is_python(path) or _is_javascript(path)


def _is_javascript(path: str) -> bool:
    return find_language(path) in {JAVASCRIPT, TYPESCRIPT}


def _choose(names: Sequence[str], most: int, random: Random) -> tuple[_Test, ...]:
    cases: dict[tuple[str, Qualname], list[str]] = defaultdict(list)
    for name in names:
        path, _, titles = name.partition("::")
        if titles and _is_javascript(path):
            cases[path, (titles,)] = [""]
        plain, bracket, case = name.partition("[")
        path, *qualname = plain.split("::")
        if qualname and is_python(path):
            cases[path, tuple(qualname)].append(bracket + case)
    found = [
        _Test(path=path, qualname=name, cases=_sample(some, MAX_CASES, random))
        for (path, name), some in cases.items()
    ]
    return _sample(found, most, random)


def _sample(values: Sequence[Value], most: int, random: Random) -> tuple[Value, ...]:
    """Return a sample of at most `most` values, in their order."""
    chosen = sorted(random.sample(range(len(values)), min(most, len(values))))
    return tuple(values[index] for index in chosen)


class _Observation:
    """Copies tests, runs the copies and restores the files.

    Args:
        guest: The sandbox.
        run: Runs tests in it.
        tests: The functions to copy.
        random: Source of all random choices.
    """

    def __init__(self, guest: Guest, run: Run, tests: tuple[_Test, ...], random: Random) -> None:
        self._guest = guest
        self._run = run
        self.tests = tests
        self._random = random
        self._originals: dict[str, bytes] = {}
        self._executable: frozenset[str] = frozenset()

    async def read(self) -> tuple[str, ...]:
        """Read the tests' files; return the names of the tests that cannot be copied."""
        for path in sorted({test.path for test in self.tests}):
            try:
                content = await self._guest.read(path, max_bytes=MAX_FILE_BYTES)
            except ChangeRejected:
                continue
            if content is not None and _is_utf8(content):
                self._originals[path] = content
        self._executable = await executable_paths(self._guest, tuple(self._originals))
        files = self._beside()
        copied = {(path, copy.original) for path, file in files.items() for copy in file.copies}
        return tuple(test.name for test in self.tests if (test.path, test.qualname) not in copied)

    async def compare(self) -> KnownAnswers:
        """Compare outcomes with the known answers.

        Copies under new names run first: both kinds in one session, in an order that cannot be
        guessed. A test that depends on its name, or cannot run twice in a process, gives a wrong
        answer there. So only copies in the place of the originals, each kind in its own session,
        give a wrong answer that counts.
        """
        files = self._beside()
        found = await self._compare(files, self._order_copies(files, shuffled=True))
        if found.finding in {"confirmed", "tampered"}:
            return found
        by_chance = (self._random.random() < 0.5, False)  # noqa: PLR2004 - a coin
        kinds = [(True, False), (False, True), (False, False), by_chance]
        self._random.shuffle(kinds)
        for passes, negates in kinds:
            files = self._in_place(passes=passes, negates=negates)
            found = await self._compare(files, self._order_copies(files, shuffled=False))
            if found.finding != "confirmed":
                return found
        return found

    async def compare_together(
        self, targets: tuple[str, ...], *, copies_first: bool
    ) -> KnownAnswers:
        """Compare outcomes of copies that run before or after their originals."""
        files = self._beside()
        copies = self._order_copies(files, shuffled=True)
        names = (*copies, *targets) if copies_first else (*targets, *copies)
        found = await self._compare(files, copies, names)
        return found.with_(copies=frozenset(copies))

    async def rerun_originals(self) -> TestReport | None:
        """Run the originals again. Return the first run that did not pass."""
        names = tuple(test.name + case for test in self.tests for case in test.cases)
        for _ in range(RERUNS):
            report = await self._run(names)
            if not report.success:
                return report
        return None

    def _beside(self) -> dict[str, Rewritten]:
        number = 2 if len(self.tests) <= FEW_FUNCTIONS else 1

        def add(path: str, source: str, names: list[Qualname]) -> Rewritten | None:
            wanted = dict.fromkeys(names, number)
            if is_python(path):
                return python_copies.add_copies(source, wanted, self._random)
            # It loads a parser, which most missions do not need.
            from sandbox.known_answers import javascript_copies

            return javascript_copies.add_copies(path, source, wanted, self._random)

        return self._rewrite(add)

    def _in_place(self, *, passes: bool, negates: bool) -> dict[str, Rewritten]:
        def replace(path: str, source: str, names: list[Qualname]) -> Rewritten | None:
            if is_python(path):
                return python_copies.replace_originals(
                    source, names, self._random, passes=passes, negates=negates
                )
            # It loads a parser, which most missions do not need.
            from sandbox.known_answers import javascript_copies

            return javascript_copies.replace_originals(
                path, source, names, self._random, passes=passes, negates=negates
            )

        return self._rewrite(replace)

    def _rewrite(
        self, rewrite: Callable[[str, str, list[Qualname]], Rewritten | None]
    ) -> dict[str, Rewritten]:
        found = {}
        for path, content in self._originals.items():
            names = [test.qualname for test in self.tests if test.path == path]
            made = rewrite(path, content.decode(), names)
            if made is not None:
                found[path] = made
        return found

    async def _compare(
        self,
        files: Mapping[str, Rewritten],
        copies: Mapping[str, Copy],
        names: tuple[str, ...] = (),
    ) -> KnownAnswers:
        """Write the copies, run them (or `names`), and restore the originals."""
        try:
            await self._write({path: file.text.encode() for path, file in files.items()})
            report = await self._run(names or tuple(copies))
        finally:
            # Also after an error: the caller goes on with the same checkout.
            await self._write({path: self._originals[path] for path in files})
        if report.verdict is RunVerdict.TAMPERED:
            return KnownAnswers(finding="tampered", test=report.summary)
        wrong = [name for name, copy in copies.items() if not copy.passes]
        forged = [name for name in wrong if report.outcomes.get(name) is TestStatus.PASS]
        if forged:
            return KnownAnswers(finding="forged", test=_original_name(forged[0], copies[forged[0]]))
        right = [name for name, copy in copies.items() if copy.passes]
        silent = [name for name in right if report.outcomes.get(name) is not TestStatus.PASS]
        silent += [name for name in wrong if name not in report.outcomes]
        if silent:
            return KnownAnswers(
                finding="unconfirmed", test=_original_name(silent[0], copies[silent[0]])
            )
        return KnownAnswers(finding="confirmed")

    def _order_copies(self, files: Mapping[str, Rewritten], *, shuffled: bool) -> dict[str, Copy]:
        """Return the copies by node id, in random order or in the order of the originals."""
        named = []
        for test in self.tests:
            copies = files[test.path].copies if test.path in files else ()
            for copy in copies:
                if copy.original == test.qualname:
                    name = test.with_(qualname=copy.name).name
                    named += [(name + case, copy) for case in test.cases]
        if shuffled:
            self._random.shuffle(named)
        return dict(named)

    async def _write(self, contents: Mapping[str, bytes]) -> None:
        await self._guest.write(
            FileEdit(
                path=path, mode="100755" if path in self._executable else "100644", content=content
            )
            for path, content in contents.items()
        )


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _original_name(name: str, copy: Copy) -> str:
    """Return the node id of the copied test."""
    path, case = name.split("::", maxsplit=1)[0], name.partition("[")
    if not is_python(path):
        return f"{path}::{copy.original[0]}"
    return "::".join((path, *copy.original)) + "".join(case[1:])
