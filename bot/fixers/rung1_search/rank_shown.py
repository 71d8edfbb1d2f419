"""A ranked survivor for people and the mission: its rivals, the input that tells them apart, and its grounds."""

from bot.domain.counted import counted
from bot.domain.patch import Candidate, Mutants, Rival, Rung
from bot.fixers.rung1_search.attempt import Attempt, Shown
from bot.fixers.rung1_search.changes import identity_of
from bot.fixers.rung1_search.rank import Ranked


def rivals_of(ranked: Ranked) -> tuple[Rival, ...]:
    """The best survivor of every other behaviour, with the smallest input on which the two differ."""
    return tuple(
        Rival(
            template=rival.template,
            path=rival.path,
            line=rival.line,
            description=rival.description,
            distinguishing_input=difference.input,
            results=difference.results,
            candidate_id=identity_of(rival.edits),
        )
        for rival, difference in zip(ranked.rivals, ranked.differences, strict=True)
    )


def mutants_of(ranked: Ranked) -> Mutants | None:
    """How many mutants of the patched lines the tests notice, where that was measured."""
    profile = ranked.profile
    return Mutants(tried=profile.mutants, killed=profile.mutants_killed) if profile.mutants else None


def compared_words(ranked: Ranked) -> str:
    """What was observed beside the tests, in a sentence or two; empty when nothing was."""
    profile = ranked.profile
    if not ranked.inputs:
        return ""
    told = f" Compared on {counted(ranked.inputs, 'input')}"
    changed = profile.changed_passing + profile.changed_neighbours
    near = profile.passing_calls + profile.neighbours
    if near:
        told += f": {changed} of {near} near passing calls give another result than before"
    told += "."
    if profile.examples:
        kept = profile.examples - profile.examples_failed
        told += f" {kept} of {profile.examples} examples in docstrings hold."
    if profile.mutants:
        told += f" The tests notice {profile.mutants_killed} of {profile.mutants} mutants of the patched lines."
    return told


def candidate_of(shown: Shown, found: Attempt) -> Candidate:
    """A fix that was found, as the ladder takes it.

    Args:
        shown: The fix.
        found: The search it came from.
    """
    ranked, survivor = shown.ranked, shown.ranked.survivor
    return Candidate(
        id=identity_of(survivor.edits),
        rung=Rung.SEARCH,
        fixer="search",
        template=survivor.template,
        title=f"{survivor.path}: {survivor.description}"[:120],
        explanation=_explanation(ranked, len(found.survivors), found.tried),
        changes=shown.changes,
        candidates_tried=found.tried,
        plausible=len(found.survivors),
        behaviours=ranked.behaviours,
        rivals=rivals_of(ranked),
        warnings=survivor.warnings,
        score=ranked.score,
        confident=ranked.confident,
        inputs=ranked.inputs,
        mutants=mutants_of(ranked),
        held_out=len(found.request.held_out),
        seconds=found.done.seconds,
    )


def _explanation(ranked: Ranked, plausible: int, tried: int) -> str:
    survivor = ranked.survivor
    told = f"{survivor.description} at {survivor.path}:{survivor.line} ({survivor.template})."
    told += f" {counted(tried, 'candidate')} tried, {plausible} made every known test pass"
    told += f", in {ranked.behaviours} different behaviours." if ranked.behaviours > 1 else ", all behaving alike."
    if ranked.rivals:
        rival = ranked.rivals[0]
        told += f" The tests do not tell it from: {rival.description} at {rival.path}:{rival.line}."
    return told + compared_words(ranked)
