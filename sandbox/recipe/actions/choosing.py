"""Match a check run's name to a job and its cell."""

import re
from collections.abc import Callable, Mapping, Sequence

from sandbox.recipe.actions.candidates import JobCandidate
from sandbox.recipe.actions.matrix import Cell, agrees, cell_words
from sandbox.recipe.actions.script_kind import RANKED, kind_of_script
from sandbox.recipe.actions.values import Unknown, Value
from sandbox.recipe.document import steps_of, text
from sandbox.recipe.python_versions import USUAL, read_version
from sandbox.types import JobHints, StepKind

_NO_MATCH = 99
_GUESSED = 8
_LONGEST_NAME = 300
_LONGEST_JOB = 100_000
_MENTIONED = re.compile(r"(?<![\w.-])matrix\.([\w-]+)")
_RUNNER = re.compile(r"(?:ubuntu|windows|macos)-")
_WORDS = re.compile(r"(.*?)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")


def choose(hints: JobHints, found: Sequence[JobCandidate]) -> tuple[JobCandidate | None, str]:
    """Return the matching candidate, and a note if it had to be guessed.

    Args:
        hints: The job's name, and values of its matrix.
        found: All jobs.
    """
    fitting = [
        (score, candidate)
        for candidate in found
        if (score := _score(hints.job_name, candidate)) < _NO_MATCH
    ]
    if not fitting:
        return None, ""
    # a reusable workflow only matches by itself if nothing else does
    fitting = [pair for pair in fitting if not pair[1].called] or fitting
    named = (hints.workflow_path or "").split("@")[0].removeprefix("./")
    fitting = [pair for pair in fitting if pair[1].path == named] or fitting
    best = min(score for score, _ in fitting)
    left = [candidate for score, candidate in fitting if score == best]
    # Each test narrows the candidates, unless it would exclude all of them.
    tests: list[Callable[[JobCandidate], bool]] = [
        lambda candidate: agrees(_all_values(candidate), hints.matrix),
        lambda candidate: _has_step(hints.step_name, candidate),
        lambda candidate: (
            hints.job_name is not None or _kind_rank(candidate) == min(map(_kind_rank, left))
        ),
        lambda candidate: (
            hints.python is None or hints.python in cell_words(_all_values(candidate))
        ),
        lambda candidate: not _is_not_linux(candidate),
        lambda candidate: hints.job_name is not None or not candidate.job.get("services"),
        # of equally likely cells, the one whose Python is installed
        lambda candidate: any(
            read_version(word) == USUAL for word in cell_words(_all_values(candidate))
        ),
    ]
    guessed = "its matrix has no such cell; the first one is used" if best >= _GUESSED else ""
    for number, test in enumerate(tests):
        narrowed = [candidate for candidate in left if test(candidate)]
        if not narrowed and number == 0 and hints.matrix:
            guessed = (
                f"no cell has {', '.join(f'{k}={v}' for k, v in hints.matrix.items())}; another "
                f"one is used"
            )
        left = narrowed or left
    chosen = left[0]
    return _with_hints(chosen, hints), guessed


def _score(wanted: str | None, candidate: JobCandidate) -> int:
    """Return how well a name matches; 0 is best."""
    if wanted is None:
        return 0
    asked, display = _plain(wanted), _plain(candidate.display)
    if not asked:
        return 0
    longer = f"{display} ({', '.join(_plain(word) for word in cell_words(candidate.cell))})"
    checks: tuple[tuple[int, Callable[[], bool]], ...] = (
        (0, lambda: wanted == candidate.display),
        (1, lambda: asked in {display, longer}),
        (
            2,
            lambda: (
                asked.endswith(("...", "…"))
                and display.startswith(asked.rstrip(".…"))
                and len(asked) > 10  # noqa: PLR2004
            ),
        ),
        (
            3,
            lambda: (
                not candidate.fixed
                and _fits_open_name(asked, candidate)
                and _shows(wanted, candidate)
            ),
        ),
        (
            4,
            lambda: (
                asked.rsplit(" / ", 1)[-1] in {display, longer}
                or asked == display.rsplit(" / ", 1)[-1]
            ),
        ),
        (4, lambda: not candidate.fixed and fits_pieces(asked, _plain(candidate.pattern))),
        (4, lambda: bool(candidate.obstacle) and asked.startswith(f"{display} / ")),
        (
            5,
            lambda: (
                asked
                in {_plain(candidate.job_id), _plain(candidate.base), _plain(_written(candidate))}
            ),
        ),
        (6, lambda: asked in map(_plain, candidate.caller_ids)),
        (6, lambda: _values_fit(asked, candidate)),
        (_GUESSED, lambda: _same_base(asked, candidate)),
    )
    return next((score for score, check in checks if check()), _NO_MATCH)


def _shows(wanted: str, candidate: JobCandidate) -> bool:
    """Return True if the values in a name agree with the cell's known values."""
    return agrees(candidate.cell, named_values(wanted, candidate))


def is_meant(name: str, candidate: JobCandidate) -> bool:
    """Return True if a name may belong to a candidate."""
    return _score(name, candidate) < _NO_MATCH


def _all_values(candidate: JobCandidate) -> Cell:
    """Return the cell's values with those of the calling jobs."""
    return {
        name: value for cell in (*candidate.callers, candidate.cell) for name, value in cell.items()
    }


def _plain(name: str) -> str:
    return " ".join(name[:_LONGEST_NAME].split()).casefold()


def _written(candidate: JobCandidate) -> str:
    return text(candidate.job.get("name"))


def _fits_open_name(asked: str, candidate: JobCandidate) -> bool:
    """Return True if a name matches one with parts that only GitHub knows."""
    pattern = _plain(_written(candidate))
    if "${{" in pattern:
        return fits_pieces(asked.rsplit(" / ", 1)[-1], pattern)
    parts = _WORDS.fullmatch(asked)
    base = _plain(candidate.base)
    if parts is None:
        return asked == base
    known = [_plain(word) for word in cell_words(candidate.cell)]
    return parts[1] == base and all(word in _split(parts[2]) for word in known)


def fits_pieces(asked: str, pattern: str) -> bool:
    """Return True if a name contains the literal pieces of a pattern in order."""
    pieces = re.split(r"\$\{\{[^}]*\}\}", pattern)
    if len(pieces) == 1 or not any(re.search(r"\w", piece) for piece in pieces):
        return False
    at = len(pieces[0])
    if not asked.startswith(pieces[0]) or not asked.endswith(pieces[-1]):
        return False
    for piece in pieces[1:-1]:
        found = asked.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= len(asked) - len(pieces[-1])


_VALUE = re.compile(r"\$\{\{\s*matrix\.([\w-]+)\s*\}\}")


def named_values(name: str, candidate: JobCandidate) -> dict[str, str]:
    """Return the values of a computed matrix that are visible in the check run's name.

    For example, `Tests on 3.11` of a job with the name `Tests on ${{ matrix.python }}`.
    """
    written = " ".join(_written(candidate).split())
    if candidate.matrix_unknown is not None and "${{" not in written:
        return _listed_values(name, candidate)
    pieces = re.split(r"(\$\{\{[^}]*\}\})", written[:_LONGEST_NAME])
    names = [found[1] for piece in pieces[1::2] if (found := _VALUE.fullmatch(piece)) is not None]
    if (
        not names
        or len(names) != len(pieces) // 2
        or len(names) > 3  # noqa: PLR2004
        or len(set(names)) != len(names)
    ):
        return {}
    pattern = "".join(
        "(.+?)" if index % 2 else re.escape(piece.rsplit(" / ", 1)[-1])
        for index, piece in enumerate(pieces)
    )
    plain = " ".join(name[:_LONGEST_NAME].split())
    found = re.fullmatch(pattern, plain) or re.fullmatch(pattern, plain.rsplit(" / ", 1)[-1])
    return dict(zip(names, found.groups(), strict=True)) if found is not None else {}


def _listed_values(name: str, candidate: JobCandidate) -> dict[str, str]:
    """Return the values in `Test (ubuntu-latest, 22)` if the whole matrix is computed.

    Their names are those that the job mentions: the runner's by `runs-on`, and at most one other.
    """
    parts = _WORDS.fullmatch(" ".join(name[:_LONGEST_NAME].split()))
    words = _split(parts[2]) if parts is not None else []
    names = list(dict.fromkeys(_MENTIONED.findall(str(candidate.job)[:_LONGEST_JOB])))
    if not words or len(names) != len(words):
        return {}
    found = {}
    runner = _VALUE.fullmatch(text(candidate.job.get("runs-on")).strip())
    images = [word for word in words if _RUNNER.match(word)]
    # Of a large job, only the beginning was searched for names.
    if runner is not None and runner[1] in names and images:
        found[runner[1]] = images[0]
        names.remove(runner[1])
        words.remove(images[0])
    return found | dict(zip(names, words, strict=True)) if len(names) < 2 else {}  # noqa: PLR2004


def _values_fit(asked: str, candidate: JobCandidate) -> bool:
    """Match `test (3.11)` to a cell with more values, or in another order."""
    parts = _WORDS.fullmatch(asked)
    if parts is None:
        return False
    known = {_plain(word) for word in cell_words(_all_values(candidate))}
    bases = {_plain(candidate.base), _plain(candidate.job_id), _plain(_written(candidate))}
    return (
        parts[1].rsplit(" / ", 1)[-1] in {base.rsplit(" / ", 1)[-1] for base in bases}
        and set(_split(parts[2])) <= known
    )


def _same_base(asked: str, candidate: JobCandidate) -> bool:
    base = asked.rsplit(" / ", 1)[-1]
    fixed = _plain(_written(candidate).split("${{")[0]).strip(" -(,/:")
    names = {_plain(candidate.job_id), _plain(candidate.base).rsplit(" / ", 1)[-1], fixed} - {""}
    return any(base == name or base.startswith((f"{name} ", f"{name}(")) for name in names)


def _split(words: str) -> list[str]:
    return [word.strip() for word in words.split(",")]


def _has_step(wanted: str | None, candidate: JobCandidate) -> bool:
    if wanted is None:
        return True
    plain = wanted.removeprefix("Run ").strip()
    for table in steps_of(candidate.job):
        first = text(table.get("run")).strip().split("\n")[0]
        if plain in {text(table.get("name")), first, text(table.get("uses"))} or wanted == text(
            table.get("name")
        ):
            return True
    return False


def _kind_rank(candidate: JobCandidate) -> int:
    kinds = [
        kind_of_script(text(step.get("run")), text(step.get("name")))
        for step in steps_of(candidate.job)
    ]
    return min(
        (RANKED.index(kind) for kind in kinds if kind is not StepKind.OTHER), default=len(RANKED)
    )


def _is_not_linux(candidate: JobCandidate) -> bool:
    """Return True if the cell does not run on Linux."""
    words = " ".join([*cell_words(candidate.cell), text(candidate.job.get("runs-on"))]).lower()
    return bool(re.search(r"windows|macos|mac-os", words))


def _with_hints(candidate: JobCandidate, hints: JobHints) -> JobCandidate:
    """Return the candidate with the hints' values for a computed matrix."""
    parts = _WORDS.fullmatch(" ".join((hints.job_name or "")[:_LONGEST_NAME].split()))
    words = _split(parts[2]) if parts else []
    shown = named_values(hints.job_name or "", candidate)
    cell: Cell = {}
    for index, (name, value) in enumerate(candidate.cell.items()):
        bound: Value = value
        if isinstance(value, Unknown):
            by_place = words[index] if len(words) == len(candidate.cell) else value
            bound = hints.matrix.get(name, shown.get(name, by_place))
        cell[name] = bound
    if cell == candidate.cell:
        return candidate
    values = {name: getattr(candidate, name) for name in candidate.__dataclass_fields__}
    context: Mapping[str, Value] = {**candidate.context, "matrix": dict(cell)}
    display = hints.job_name or candidate.display
    return JobCandidate(**{**values, "cell": cell, "context": context, "display": display})
