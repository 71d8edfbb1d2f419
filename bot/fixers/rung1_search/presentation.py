"""Present a ranked survivor to people and the mission, with its rivals and evidence."""

from itertools import islice

from bot.domain.counted import counted
from bot.domain.lesson import AlikeEdit
from bot.domain.patch import Candidate, Mutants, Rival, Rung
from bot.fixers.rung1_search.attempt import RankedFix, SearchResult
from bot.fixers.rung1_search.changes import hash_edits
from bot.fixers.rung1_search.near_misses import diff_changes
from bot.fixers.rung1_search.rank import Ranked
from bot.fixers.rung1_search.rank_features import plain_kind
from bot.fixers.rung1_search.token_edits import read_edits

MOST_ALIKE = 5


def list_rivals(ranked: Ranked) -> tuple[Rival, ...]:
    """Return the best survivor of every other behaviour, with the smallest distinguishing input."""
    return tuple(
        Rival(
            template=plain_kind(rival.template),
            path=rival.path,
            line=rival.line,
            description=rival.description,
            distinguishing_input=difference.input,
            results=difference.results,
            candidate_id=hash_edits(rival.edits),
        )
        for rival, difference in zip(ranked.rivals, ranked.differences, strict=True)
    )


def mutation_result(ranked: Ranked) -> Mutants | None:
    """Return the mutation result of the patched lines, if measured."""
    profile = ranked.profile
    return (
        Mutants(tried=profile.mutants, killed=profile.mutants_killed) if profile.mutants else None
    )


def list_doubts(ranked: Ranked) -> tuple[str, ...]:
    """Return the reasons to review a survivor with care, also those that do not weigh in its rank.

    Args:
        ranked: The survivor.
    """
    new, unrun = ranked.profile.new_lines, ranked.profile.unrun
    # The sandbox may report any numbers.
    if not 0 < unrun <= new:
        return ranked.survivor.warnings
    lines = "its new line" if new == 1 else f"{unrun} of its {new} new lines"
    return (*ranked.survivor.warnings, f"no test was seen to run {lines}")


def describe_comparison(ranked: Ranked) -> str:
    """Describe the comparison beyond the tests; empty if there was none."""
    profile = ranked.profile
    if not ranked.inputs:
        return ""
    text = f" Compared on {counted(ranked.inputs, 'input')}"
    changed = profile.changed_passing + profile.changed_neighbours
    near = profile.passing_calls + profile.neighbours
    if near:
        text += f": {changed} of {near} near passing calls give another result than before"
    text += "."
    if profile.examples:
        kept = profile.examples - profile.examples_failed
        text += f" {kept} of {counted(profile.examples, 'docstring example')} passed."
    if profile.mutants:
        text += (
            f" The tests detect {profile.mutants_killed} of {counted(profile.mutants, 'mutant')} "
            "of the patched lines."
        )
    return text


def list_alike(shown: RankedFix, found: SearchResult) -> tuple[AlikeEdit, ...]:
    """Return the best small changes with the behaviour of a fix, itself excluded."""
    clusters = found.compared.clusters if found.compared else ()
    number = shown.ranked.number
    same = (
        one
        for one in found.shown
        if one is not shown
        and clusters
        and clusters[one.ranked.number] == clusters[number]
        and not one.ranked.survivor.warnings
    )
    edits = (
        AlikeEdit(
            template=one.ranked.survivor.template, diff=diff_changes(one.changes, found.originals)
        )
        for one in islice(same, MOST_ALIKE)
    )
    # Only such edits can be made at another place.
    return tuple(edit for edit in edits if len(read_edits(edit.diff)) == 1)


def build_candidate(shown: RankedFix, found: SearchResult) -> Candidate:
    """Convert a ranked fix to a candidate of the ladder.

    Args:
        shown: The fix.
        found: The search that found it.
    """
    ranked, survivor = shown.ranked, shown.ranked.survivor
    return Candidate(
        id=hash_edits(survivor.edits),
        rung=Rung.SEARCH,
        fixer="search",
        template=plain_kind(survivor.template),
        title=f"{survivor.path}: {survivor.description}"[:120],
        explanation=_explanation(ranked, len(found.survivors), found.tried),
        changes=shown.changes,
        candidates_tried=found.tried,
        plausible=len(found.survivors),
        behaviours=ranked.behaviours,
        rivals=list_rivals(ranked),
        warnings=list_doubts(ranked),
        score=ranked.score,
        confident=ranked.confident,
        ranked=True,
        inputs=ranked.inputs,
        mutants=mutation_result(ranked),
        held_out=len(found.request.held_out),
        seconds=found.done.seconds,
        calls=found.compared.calls[ranked.number]
        if found.compared and found.compared.calls
        else (),
        alike=list_alike(shown, found),
    )


def _explanation(ranked: Ranked, plausible: int, tried: int) -> str:
    survivor = ranked.survivor
    kind = plain_kind(survivor.template)
    text = f"{survivor.description} at {survivor.path}:{survivor.line} ({kind})."
    text += f" {counted(tried, 'candidate')} tried, {plausible} made every known test pass"
    text += (
        f", in {ranked.behaviours} different behaviours."
        if ranked.behaviours > 1
        else ", all behaving alike."
    )
    if ranked.rivals:
        rival = ranked.rivals[0]
        text += f" The tests do not distinguish it from: {rival.description}"
        text += f" at {rival.path}:{rival.line}."
    return text + describe_comparison(ranked)
