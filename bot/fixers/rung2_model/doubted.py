"""Show a model the doubted candidates of lower rungs: what passes, and why it is doubted."""

from collections.abc import Iterable

from bot.domain.model import Passage
from bot.domain.patch import Candidate
from bot.fixers.rung2_model.budget import PromptSpace
from bot.fixers.rung2_model.feedback import describe_doubts, diff_proposed
from bot.fixers.trials import Failure, Proposed
from sandbox.diffs import line_changes

SHOWN = 3


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


async def _originals(candidate: Candidate, failure: Failure) -> dict[str, str]:
    paths: Iterable[str] = dict.fromkeys(change.path for change in candidate.changes)
    texts = {path: await failure.workspace.read_file(path) for path in paths}
    return {path: text for path, text in texts.items() if text is not None}
