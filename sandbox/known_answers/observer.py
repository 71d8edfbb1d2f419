"""Observe from outside the test process whether passing tests can fail.

Whatever runs beside a test in its process can make it look green. So the judge changes the tests'
source on disk and runs them again: copies that must pass have to pass, copies that must fail have to
fail. A forger that turns every test green passes a copy that must fail; one that knows its victim by
name, line or text does not recognise the copy.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from random import Random, SystemRandom  # noqa: TID251 - hostile code must not guess the answers
from typing import Literal

from sandbox.backends.base import Guest
from sandbox.changes.edits import MAX_FILE_BYTES
from sandbox.changes.in_guest import executable_paths
from sandbox.errors import ChangeRejected
from sandbox.known_answers.copies import Copy, Qualname, Rewritten, add_copies, replace_originals
from sandbox.types import FileEdit, Frozen, RunVerdict, TestReport, TestStatus

MAX_FUNCTIONS = 12
"""Test functions observed in one run."""
MAX_SAMPLED = 3
"""Test functions observed when no test was asked for by name."""
MAX_CASES = 2
"""Parameter sets of one function that are run."""
FEW_FUNCTIONS = 2
"""Up to so many functions get two copies of each kind: guessing six arrangements right is luck."""

RERUNS = 4
"""Further runs of the originals, once copies answered wrongly: a test that passes by chance is no forger."""

Run = Callable[[tuple[str, ...]], Awaitable[TestReport]]
"""Runs tests by name, without a limit of failures."""
Finding = Literal["confirmed", "forged", "tampered", "unconfirmed", "unsteady", "not copied"]


class Answers(Frozen):
    """The outcome of an observation."""

    finding: Finding
    test: str = ""
    """The test that gave a wrong answer, or the summary of a run that was tampered with."""
    rerun: TestReport | None = None
    """A run of the same tests that did not pass."""
    not_copied: tuple[str, ...] = ()
    """Functions among those asked for that their files do not plainly define."""


async def observe(
    guest: Guest, run: Run, report: TestReport, *, targeted: bool, random: Random | None = None
) -> Answers:
    """Run copies of tests that a report calls passed.

    Args:
        guest: Sandbox the tests ran in; its files are the same afterwards.
        run: Runs tests in it.
        report: Run that passed.
        targeted: The tests were asked for by name, so all count; otherwise a sample does.
        random: Source of everything a copy is made with.

    Returns:
        `forged` if a copy that must fail passed, `tampered` if the run of copies contradicts itself,
        `unconfirmed` if a copy that must pass did not, `unsteady` if the originals failed when they ran
        again, and `not copied` if there is no copy of any test.

    Raises:
        SandboxDied: the sandbox went away.
    """
    random = random or SystemRandom()
    observation = _Observation(guest, run, _chosen(report, targeted=targeted, random=random), random)
    missing = await observation.read()
    if len(missing) == len(observation.tests):
        return Answers(finding="not copied", not_copied=missing)
    answers = await observation.answers()
    if answers.finding in {"forged", "unconfirmed"} and (red := await observation.red_rerun()) is not None:
        answers = Answers(finding="unsteady", rerun=red)
    return answers.with_(not_copied=missing)


class _Test(Frozen):
    """A test function and the parameter sets that passed."""

    path: str
    qualname: Qualname
    cases: tuple[str, ...]
    """`[1-a]` for each, or one empty text."""

    @property
    def name(self) -> str:
        """The node id, without parameters."""
        return "::".join((self.path, *self.qualname))


def _chosen(report: TestReport, *, targeted: bool, random: Random) -> tuple[_Test, ...]:
    cases: dict[tuple[str, Qualname], list[str]] = defaultdict(list)
    for name in sorted(report.passing):
        plain, bracket, case = name.partition("[")
        path, *qualname = plain.split("::")
        if qualname and path.endswith(".py"):
            cases[path, tuple(qualname)].append(bracket + case)
    found = [_Test(path=path, qualname=name, cases=_sample(some, random)) for (path, name), some in cases.items()]
    most = MAX_FUNCTIONS if targeted else MAX_SAMPLED
    return tuple(random.sample(found, min(most, len(found))))


def _sample(cases: list[str], random: Random) -> tuple[str, ...]:
    return tuple(random.sample(cases, min(MAX_CASES, len(cases))))


class _Observation:
    """Copies tests, runs the copies and puts the files back.

    Args:
        guest: Sandbox.
        run: Runs tests in it.
        tests: Functions to copy.
        random: Source of everything a copy is made with.
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

    async def answers(self) -> Answers:
        """Compare outcomes with the known answers.

        Copies under new names come first: both kinds run in one session, in an order that cannot be
        guessed. A test that cannot run twice in a process, or depends on its name, answers wrongly
        there; so wrong answers count only from copies in the place of the originals, which run in
        sessions of their own.
        """
        found = await self._compared(self._beside())
        if found.finding in {"confirmed", "tampered"}:
            return found
        kinds = [True, False, self._random.random() < 0.5]  # noqa: PLR2004 - a coin
        self._random.shuffle(kinds)
        for passes in kinds:
            found = await self._compared(self._in_place(passes=passes))
            if found.finding != "confirmed":
                return found
        return found

    async def red_rerun(self) -> TestReport | None:
        """Run the originals again; return the first run that did not pass."""
        names = tuple(test.name + case for test in self.tests for case in test.cases)
        for _ in range(RERUNS):
            report = await self._run(names)
            if not report.success:
                return report
        return None

    def _beside(self) -> dict[str, Rewritten]:
        number = 2 if len(self.tests) <= FEW_FUNCTIONS else 1
        return self._rewritten(lambda source, names: add_copies(source, dict.fromkeys(names, number), self._random))

    def _in_place(self, *, passes: bool) -> dict[str, Rewritten]:
        return self._rewritten(lambda source, names: replace_originals(source, names, self._random, passes=passes))

    def _rewritten(self, rewrite: Callable[[str, Iterable[Qualname]], Rewritten | None]) -> dict[str, Rewritten]:
        found = {}
        for path, content in self._originals.items():
            names = [test.qualname for test in self.tests if test.path == path]
            made = rewrite(content.decode(), names)
            if made is not None:
                found[path] = made
        return found

    async def _compared(self, files: Mapping[str, Rewritten]) -> Answers:
        """Write the copies, run them, put the originals back."""
        copies = self._named(files)
        try:
            await self._write({path: file.text.encode() for path, file in files.items()})
            report = await self._run(tuple(copies))
        finally:
            await self._write({path: self._originals[path] for path in files})
        if report.verdict is RunVerdict.TAMPERED:
            return Answers(finding="tampered", test=report.summary)
        wrong = [name for name, copy in copies.items() if not copy.passes]
        forged = [name for name in wrong if report.outcomes.get(name) is TestStatus.PASS]
        if forged:
            return Answers(finding="forged", test=_original(forged[0], copies[forged[0]]))
        right = [name for name, copy in copies.items() if copy.passes]
        silent = [name for name in right if report.outcomes.get(name) is not TestStatus.PASS]
        silent += [name for name in wrong if name not in report.outcomes]
        if silent:
            return Answers(finding="unconfirmed", test=_original(silent[0], copies[silent[0]]))
        return Answers(finding="confirmed")

    def _named(self, files: Mapping[str, Rewritten]) -> dict[str, Copy]:
        """Return the copies by their node ids, in a random order."""
        named = []
        for test in self.tests:
            copies = files[test.path].copies if test.path in files else ()
            for copy in copies:
                if copy.original == test.qualname:
                    name = test.with_(qualname=copy.name).name
                    named += [(name + case, copy) for case in test.cases]
        self._random.shuffle(named)
        return dict(named)

    async def _write(self, contents: Mapping[str, bytes]) -> None:
        await self._guest.write(
            FileEdit(path=path, mode="100755" if path in self._executable else "100644", content=content)
            for path, content in contents.items()
        )


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _original(name: str, copy: Copy) -> str:
    """Return the node id of the test that a copy was made of."""
    path, case = name.split("::", maxsplit=1)[0], name.partition("[")
    return "::".join((path, *copy.original)) + "".join(case[1:])
