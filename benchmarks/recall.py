"""How well recall tells failures apart: recall@3, precision@3 and milliseconds, as one line of JSON.

The lessons are those of a generated repository: functions in files that share words, each with several causes.
A question is a later failure of one cause, with other values, lines, wording and test names. Near misses stand
beside it: the same file with another cause, the same error in another file. A fifth of the questions has no lesson,
and whatever is recalled for them is wrong. `--lessons` adds lessons of other repositories, for the times.

    python -m benchmarks.recall [--questions 200] [--seed 1] [--lessons 100000] [--database sqlite|postgresql]
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import as_users_have_it, report, summary
from bot.domain.lesson import Lesson
from bot.lessons.stored import StoredLessons
from bot.lessons.words import words_of
from bot.store.opening import open_database

NOUNS = (  # noqa: SIM905 -- short
    "invoice order basket price discount currency account balance customer address parcel route depot shelf ticket"
    " session token cookie header payload schema column index cursor buffer window frame layer matrix vector"
).split()
VERBS = (
    ("parse", "read"), ("format", "render"), ("merge", "join"), ("split", "divide"), ("round", "truncate"),
    ("sort", "order"), ("count", "tally"), ("check", "validate"), ("load", "fetch"), ("convert", "translate"),
)  # fmt: skip
CAUSES = (
    ("AssertionError", "assert {a} == {b} where {a} = {function}({c})", "expected {b} but {function} returned {a}"),
    ("TypeError", "{function}() missing 1 required positional argument: '{noun}'",
     "{function}() takes {a} positional arguments but {b} were given, {noun} among them"),
    ("KeyError", "'{noun}_id'", "'{noun}_id' while {function} looked up row {a}"),
    ("IndexError", "list index out of range in {function}", "pop from empty list in {function}"),
    ("ValueError", "invalid {noun} for {function}: '{a}'", "{function} cannot use the {noun} '{c}'"),
    ("AttributeError", "'NoneType' object has no attribute '{noun}'", "'NoneType' has no '{noun}' in {function}"),
    ("ZeroDivisionError", "division by zero in {function}", "float division by zero in {function}"),
    ("UnicodeDecodeError", "'utf-8' codec can't decode byte 0x{a} in {function}",
     "'ascii' codec can't decode byte 0x{b} in {function}"),
)  # fmt: skip
HERE = "here"
SHOWN = 3
WITHOUT_LESSON = 0.2


class Cause(NamedTuple):
    """One way in which one function fails."""

    file: str
    function: str
    noun: str
    kind: int


class Failure(NamedTuple):
    """What a failing test says."""

    error: str
    words: tuple[str, ...]
    tests: tuple[str, ...]
    message: str


def causes(chance: random.Random, count: int) -> list[Cause]:
    """Different causes; several share their file, their function or their kind."""
    found: dict[Cause, None] = {}
    while len(found) < count:
        file = f"shop/{chance.choice(NOUNS)}s.py"
        verb, noun = chance.choice(VERBS)[0], chance.choice(NOUNS)
        for kind in chance.sample(range(len(CAUSES)), 2):
            found.setdefault(Cause(file, f"{verb}_{noun}", noun, kind))
    return list(found)[:count]


def failure(cause: Cause, chance: random.Random, *, again: bool) -> Failure:
    """A failure of a cause; when it comes again, with another wording half of the time."""
    error, first, other = CAUSES[cause.kind]
    text = other if again and chance.random() < 0.5 else first
    values = {name: chance.randrange(10, 999) for name in "abc"}
    message = text.format(function=cause.function, noun=cause.noun, **values)
    verb = next(pair for pair in VERBS if cause.function.startswith(pair[0]))[again]
    stem = Path(cause.file).stem
    test = f"tests/test_{stem}.py::test_{verb}_{cause.noun}" + ("_again" if again else "")
    line = f"{cause.file}:{chance.randrange(5, 400)}"
    words = f"{test} {line} {error} {error}: {message}".split()
    return Failure(error, tuple(words), (test,), message)


def lesson(number: int, repository: str, cause: Cause, chance: random.Random) -> Lesson:
    """What a mission on a cause left."""
    seen = failure(cause, chance, again=False)
    sentence = f"swap_operator in {cause.file} fixed {seen.tests[0].rpartition('::')[2]}"
    return Lesson(
        id=f"{repository}-{number}",
        mission_id=f"{repository}-{number}",
        created_at=f"2026-01-01T00:00:{number % 60:02}+00:00",
        repository_id=repository,
        fingerprint=f"{repository}-{number}",
        outcome="FIXED",
        error=seen.error,
        tests=seen.tests,
        files=(cause.file,),
        sentence=sentence,
        keywords=words_of([sentence, *seen.tests, seen.message, cause.file]),
    )


async def measure(database_url: str, asked: int, seed: int, others: int) -> dict[str, object]:
    """Ask about every kind of failure, and count what comes back."""
    chance = random.Random(seed)  # noqa: S311 -- no secret
    known, *unknown = _parts(causes(chance, asked), chance)
    with closing(open_database(database_url)) as database:
        store = StoredLessons(database)
        kept = [lesson(number, HERE, cause, chance) for number, cause in enumerate(known)]
        for start in range(0, others, 5000):
            await store.add(_elsewhere(start, min(5000, others - start), chance))
        await store.add(kept)
        right = shown = found = 0
        seconds, cpu = [], []
        for number, cause in enumerate([*known, *unknown[0]]):
            question = failure(cause, chance, again=True)
            began, used = time.perf_counter(), time.process_time()
            recalled = await store.recall(
                repository_id=HERE,
                fingerprint="",
                error=question.error,
                words=question.words,
                limit=SHOWN,
            )
            seconds.append(1000 * (time.perf_counter() - began))
            cpu.append(1000 * (time.process_time() - used))
            shown += len(recalled)
            hits = sum(one.lesson.id == f"{HERE}-{number}" for one in recalled)
            right += sum(_is_of(one.lesson, cause) for one in recalled)
            found += hits
    return {
        "questions": asked,
        "lessons": len(known) + others,
        "recall_at_3": round(found / len(known), 3),
        "precision_at_3": round(right / max(1, shown), 3),
        "shown": shown,
        "milliseconds": summary(seconds, digits=1),
        "cpu_milliseconds": summary(cpu, digits=1),
    }


def _is_of(one: Lesson, cause: Cause) -> bool:
    """Whether a lesson is about the same function of the same file failing with the same error."""
    verb, _, noun = cause.function.partition("_")
    place = one.files == (cause.file,) and one.tests[0].endswith(f"test_{verb}_{noun}")
    return place and one.error == CAUSES[cause.kind][0]


def _parts(all_of: Sequence[Cause], chance: random.Random) -> tuple[list[Cause], list[Cause]]:
    """The causes with a lesson, and those without."""
    mixed = list(all_of)
    chance.shuffle(mixed)
    cut = round(len(mixed) * (1 - WITHOUT_LESSON))
    return mixed[:cut], mixed[cut:]


def _elsewhere(start: int, count: int, chance: random.Random) -> list[Lesson]:
    pool = causes(chance, 500)
    return [
        lesson(number, f"other-{number % 999}", pool[number % 500], chance)
        for number in range(start, start + count)
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lessons", type=int, default=0, help="of other repositories beside")
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    options = parser.parse_args()
    bytecode_was_off = as_users_have_it()
    with ExitStack() as stack:
        if options.database == "postgresql":
            from tests.postgres import a_server

            url = stack.enter_context(a_server()).new_database()
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            url = f"sqlite:///{Path(folder) / 'engine.sqlite'}"
        result = asyncio.run(measure(url, options.questions, options.seed, options.lessons))
    result = {"database": options.database, **result}
    report("recall", result, bytecode_was_off=bytecode_was_off)


if __name__ == "__main__":
    main()
