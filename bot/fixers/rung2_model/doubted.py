"""Show a model the doubted candidates of lower rungs: what passes, and why it is doubted."""

from collections.abc import Iterable

from bot.domain.model import Passage
from bot.domain.patch import Candidate
from bot.fixers.rung2_model.budget import PromptSpace
from bot.fixers.rung2_model.feedback import diff_proposed
from bot.fixers.trials import Failure, Proposed
from sandbox.diffs import line_changes

SHOWN = 3
_WARNINGS = 4
_DOUBT = 300


async def doubted_changes(failure: Failure, room: PromptSpace) -> tuple[Passage, ...]:
    """Return the likeliest doubted candidates as diffs, each with the reasons for doubt.

    Args:
        failure: Its context has the candidates.
        room: Space for all of them.
    """
    likeliest = sorted(failure.context.doubted, key=lambda one: -one.score)[:SHOWN]
    passages = []
    for number, one in enumerate(likeliest):
        originals = await _originals(one, failure)
        text = f"{describe_doubts(one)}\n{diff_proposed(Proposed.from_candidate(one), originals)}"
        passages.append(
            Passage(
                label="passes every test, and is doubted",
                text=room.cut(text, parts=len(likeliest) - number),
                origin=one.fixer,
            )
        )
    return tuple(one for one in passages if one.text)


async def doubted_places(failure: Failure) -> tuple[tuple[str, int], ...]:
    """Return the first line that each doubted candidate changes in each file.

    Args:
        failure: Its context has the candidates.
    """
    places = []
    for one in failure.context.doubted:
        originals = await _originals(one, failure)
        for change in one.changes:
            before = originals.get(change.path, "").splitlines()
            after = (change.content or "").splitlines()
            if spans := line_changes(before, after):
                places.append((change.path, spans[0][0] + 1))
    return tuple(dict.fromkeys(places))


def describe_doubts(candidate: Candidate) -> str:
    """Return why a passing candidate is doubted, in words.

    Args:
        candidate: A candidate that is not confident.
    """
    rival = next((one for one in candidate.rivals if one.distinguishing_input), None)
    rival = rival or next(iter(candidate.rivals), None)
    doubts = [warning[:_DOUBT] for warning in candidate.warnings[:_WARNINGS]]
    if rival is not None:
        words = f"the tests do not distinguish it from `{rival.description}` in {rival.path}"
        if rival.distinguishing_input:
            words += f"; they differ on {rival.distinguishing_input}"
        if any(rival.results):
            words += f", with the results {rival.results[0]} and {rival.results[1]}"
        doubts.append(words[: 2 * _DOUBT])
    found = doubts or ["the tests say too little about it"]
    return f"{candidate.title}\nDoubts: {'; '.join(found)}"


async def _originals(candidate: Candidate, failure: Failure) -> dict[str, str]:
    paths: Iterable[str] = dict.fromkeys(change.path for change in candidate.changes)
    texts = {path: await failure.workspace.read_file(path) for path in paths}
    return {path: text for path, text in texts.items() if text is not None}
