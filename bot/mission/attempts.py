"""FIX and VERIFY of one iteration: try the best candidates, keep what helps, reject the rest.

Each candidate is verified in fresh workspaces.

If all candidates of a rung are rejected, the next iteration continues with the rung above.
"""

from bot.domain.diagnosis import Diagnosis, FailureKind, Suspect
from bot.domain.lesson import RecalledLesson
from bot.domain.mission import MissionContext, Outcome
from bot.domain.model import Judging
from bot.domain.patch import Candidate, Choice, FixAttempt, NearMiss, Rung, Verification
from bot.domain.verdict import ChangeReview
from bot.fixers.ladder import climb, is_doubted, with_suspects
from bot.fixers.trials import Failure
from bot.mission.choices import (
    Choices,
    build_choices,
    build_question,
    find_asked_rival,
    why_asked,
    why_corrected,
)
from bot.mission.failures.reports import narrowed
from bot.mission.fix import (
    compute_budget,
    describe_exhausted,
    edits_key,
    usable_rungs,
    within_policy,
    without_refused,
)
from bot.mission.judging.alone import FREE
from bot.mission.judging.analyze import fingerprint
from bot.mission.judging.criteria import after_review, denied, unconfirmed
from bot.mission.judging.review_by_model import review_by_model
from bot.mission.refused import leave_out_refused
from bot.mission.remembered import recall_first_rung, recall_fixes
from bot.mission.run import Run
from bot.mission.steps import Ended, end
from bot.mission.tree import Tree, compose, rebase_workspace
from bot.mission.verifying.verify import verify_fix
from sandbox.types import FileChange, Frozen, TestReport

_VERIFIED_PER_ITERATION = 3
"""Maximum number of candidates to verify in one iteration."""
_STUCK_AFTER = 2
"""Repetitions of a fingerprint after a patch that end the rung, and on the highest one the
mission."""


class FixState(Frozen):
    """The state that an iteration starts from."""

    changes: tuple[FileChange, ...] = ()
    """The partial fixes so far, on top of the failing commit."""
    unsure: bool = False
    """One of them is not confident, so nothing on top of it is."""
    report: TestReport
    """The red run of exactly that tree, without tests that are left out."""
    left_out: frozenset[str] = frozenset()
    """Flaky tests, and those that were red on the base commit."""
    untried: tuple[Candidate, ...] = ()
    """Candidates of the last search of the ladder that no iteration has verified yet."""
    refused: frozenset[str] = frozenset()
    stuck: int = 0
    retried: bool = False
    from_rung: Rung = Rung.TOOLS
    """The lowest rung left; candidates of lower rungs were rejected."""
    asked: Rung = Rung.TOOLS
    """The highest rung that was asked since."""
    near: tuple[NearMiss, ...] = ()
    """Changes of lower rungs that fix a part."""
    suspects: tuple[Suspect, ...] = ()
    """Places that lower rungs searched, most suspicious first."""
    doubted: tuple[Candidate, ...] = ()
    """Unverified candidates of lower rungs that are not confident."""
    recalled: bool = False
    """The fixes of earlier missions were tried on this failure."""
    in_order: bool = False
    """The rungs are asked in order of cost, since one that was asked first did not help."""


async def try_fixes(run: Run, tree: Tree, ground: FixState, diagnosis: Diagnosis) -> FixState:
    """Find candidates and verify the best ones.

    Args:
        run: The mission.
        tree: Its workspace.
        ground: The state that the iteration starts from.
        diagnosis: The diagnosis with its suspects.

    Raises:
        Ended: fixed, nothing left to try, or a question to a person.
    """
    attempt = FixAttempt(candidates=ground.untried, notes=("candidates left from the last climb",))
    if not ground.untried:
        attempt = await _climb(run, tree, ground, diagnosis)
    run.know(lessons=(*run.context.lessons, *_new_lessons(run, attempt)))
    run.note(attempt=attempt)
    if not attempt.candidates and attempt.question:
        raise end(Outcome.NEEDS_HUMAN, describe_exhausted(attempt), question=attempt.question)
    if not attempt.candidates:
        return _without_candidates(run, ground, attempt)
    tried = await _verify_best(run, tree, ground, attempt)
    candidate, verification = tried[-1]
    if verification.green:
        ending = _fixed(candidate, verification, run.context)
        if ending.trouble.outcome is Outcome.NEEDS_HUMAN:
            run.know(choices=await _choices(run, tree, attempt))
        raise ending
    if verification.partial:
        left = narrowed(_whole(verification), ground.left_out)
        rest = FixState(changes=candidate.changes, unsure=not candidate.confident, report=left)
        return rest.with_(left_out=ground.left_out, refused=ground.refused)
    return _after_refusals(run, ground, attempt, tried)


def _new_lessons(run: Run, attempt: FixAttempt) -> list[RecalledLesson]:
    """Return the lessons that only this attempt recalled."""
    known = {one.lesson.id for one in run.context.lessons}
    return [one for one in attempt.recalled_lessons if one.lesson.id not in known]


async def _verify_best(
    run: Run, tree: Tree, ground: FixState, attempt: FixAttempt
) -> list[tuple[Candidate, Verification]]:
    """Verify the best candidates until one helps; return all that were verified.

    Raises:
        Ended: the tests are flaky.
    """
    tried: list[tuple[Candidate, Verification]] = []
    for number, candidate in enumerate(attempt.candidates[:_VERIFIED_PER_ITERATION], start=1):
        # Before a person is asked about a doubted candidate, the rungs above are.
        if tried and is_doubted(candidate) and _rungs_above(run, ground, _asked(ground, attempt)):
            break
        verification = await _verify(run, tree, candidate, number)
        tried.append((candidate, verification))
        run.note(candidate=candidate, verification=verification)
        # Green without a change: these tests cannot prove any candidate.
        if verification.flaky:
            raise _flaky(run, verification)
        if verification.green or verification.partial:
            run.know(acceptance_criteria=verification.criteria)
            break
    return tried


def _without_candidates(run: Run, ground: FixState, attempt: FixAttempt) -> FixState:
    """Return the state that continues with the next rung.

    Raises:
        Ended: every rung was asked.
    """
    asked = Rung.SEARCH if _held(run) else Rung.MODEL
    if attempt.refused:
        if _skipped(run, ground, attempt):
            return ground.with_(in_order=True)
        # The climb ended at the rung that found them, so the rungs above were not asked.
        asked = min(asked, Rung(max(attempt.rungs, default=Rung.TOOLS)))
    exhausted = "; ".join((describe_exhausted(attempt), *_refused_before(run)))
    return _above(run, _extend_state(ground, attempt, asked), exhausted)


async def _climb(run: Run, tree: Tree, ground: FixState, diagnosis: Diagnosis) -> FixAttempt:
    """Ask the ladder; its candidates become changes of the failing commit."""

    async def search() -> FixAttempt:
        workspace = rebase_workspace(await tree.at(ground.changes), ground.changes)
        # The fixers see the tree with the partial fix, so they get its red run too.
        shown = run.context.with_(
            test_results=ground.report, near_misses=ground.near, doubted=ground.doubted
        )
        tree.touched()
        fixers = tuple(
            fixer
            for fixer in run.ports.fixers
            if fixer.rung >= ground.from_rung and (fixer.rung in FREE or not _held(run))
        )
        failure = Failure(shown, diagnosis, workspace)
        # A backend without the search must not run candidates.
        compares = any(fixer.rung is Rung.SEARCH for fixer in run.ports.fixers)
        if not ground.recalled:
            known = await recall_fixes(shown, workspace, fixers)
            if known is not None:
                known = await leave_out_refused(known, failure, run.ports.recall, compares=compares)
                if (left := _offer(run, ground, known)).candidates:
                    return left
        first = None if ground.in_order else await recall_first_rung(shown, run.ports.recall)
        found = await climb(
            shown,
            with_suspects(diagnosis, ground.suspects),
            workspace,
            fixers,
            compute_budget(shown, run.ports.limits).with_(first=first),
            run.ports.clock,
        )
        wanted = await leave_out_refused(found, failure, run.ports.recall, compares=compares)
        return _offer(run, ground, wanted)

    attempt = await run.stage("fix", FixAttempt, search, detail=diagnosis.title)
    run.bill(attempt.calls)
    return attempt


def _offer(run: Run, ground: FixState, found: FixAttempt) -> FixAttempt:
    """Return an attempt with changes of the failing commit, without those not allowed here."""
    sure = not ground.unsure  # a rung ranks its own part only
    whole = tuple(
        c.with_(changes=compose(ground.changes, c.changes), confident=c.confident and sure)
        for c in found.candidates
    )
    permitted = within_policy(found.with_(candidates=whole), run.context.policy)
    return without_refused(permitted, ground.refused)


async def _verify(run: Run, tree: Tree, candidate: Candidate, number: int) -> Verification:
    """Return the verdict on a candidate; with a model, a green one is also reviewed."""

    async def verify() -> Verification:
        found = await verify_fix(
            candidate, run.context, run.checkout, run.ports.open_workspace, clock=run.ports.clock
        )
        if not found.green:
            return found
        correction = await run.ports.recall.correction()
        found = found.with_(unsure=why_corrected(candidate, correction))
        return await _review(run, tree, candidate, found)

    return await run.stage(f"verify-{number}", Verification, verify, detail=candidate.title)


async def _review(run: Run, tree: Tree, candidate: Candidate, found: Verification) -> Verification:
    """Return the verdict after a model's review, which can only reject."""
    threshold = run.ports.limits.change_threshold
    if not _is_review_due(run, candidate, found, threshold):
        return found
    from bot.fixers.rung2_model.changed_source import changed_source  # only with a model

    source = await changed_source(found.edits, await tree.at())
    review = await run.mind.or_rules(
        ChangeReview(by="rules"),
        lambda models, none: review_by_model(
            models, none, candidate, found, context=run.context, source=source
        ),
    )
    criteria = after_review(found.criteria, review.criteria)
    left = (*found.not_verified, *unconfirmed(criteria))
    reviewed = found.with_(criteria=criteria, review=review, not_verified=left)
    if review.score is not None and review.score < threshold:
        reason = (
            f"refused by self-critique ({review.score:.2f}, below {threshold:.2f}): "
            f"{review.justification}"
        )
    elif unmet := denied(criteria):
        reason = f"a critical criterion of the model does not hold: {unmet[0].description}"
    else:
        return reviewed
    return reviewed.with_(green=False, reason=reason, review=review.with_(refused=True))


def _is_review_due(run: Run, candidate: Candidate, found: Verification, threshold: float) -> bool:
    """Return True if a model reviews the change: a doubted one, or each one if it always judges."""
    judging = run.mind.judging
    # A threshold of 0 switches the review off, unless a model's own critical criterion is open.
    own = any(criterion.critical and criterion.check is None for criterion in found.criteria)
    if judging is Judging.NEVER or (threshold <= 0.0 and not own):
        return False
    return judging is Judging.ALWAYS or own or not candidate.confident


async def _choices(run: Run, tree: Tree, attempt: FixAttempt) -> tuple[Choice, ...]:
    """Store the changes that the person may choose from."""
    candidate, verification = (
        run.context.iterations[-1].candidate,
        run.context.iterations[-1].verification,
    )
    if candidate is None or verification is None:
        return ()
    stage = await run.stage(
        "choices", Choices, lambda: build_choices(candidate, verification, attempt, tree)
    )
    return stage.choices


def _fixed(candidate: Candidate, verification: Verification, context: MissionContext) -> Ended:
    """End as fixed, or with a question if something speaks against the fix."""
    if reason := why_asked(candidate, verification, context):
        question = build_question(candidate, find_asked_rival(candidate))
        return end(Outcome.NEEDS_HUMAN, reason, question=question)
    return end(Outcome.FIXED, verification.reason)


def _flaky(run: Run, verification: Verification) -> Exception:
    """End as flaky: the tests are green without any change, although triage found them steady."""
    triage = run.context.triage
    if triage is None:
        return end(Outcome.FLAKY, verification.reason)
    runs = triage.runs + 1
    reason = (
        f"the same commit was red in {triage.red_runs} of {runs} runs, and green without any "
        "change in the last"
    )
    run.know(triage=triage.with_(kind=FailureKind.FLAKE, reason=reason, runs=runs))
    return end(Outcome.FLAKY, reason)


def _whole(verification: Verification) -> TestReport:
    """Return the last run of the whole command with a partial fix."""
    return next(run.report for run in reversed(verification.runs) if run.label == "full command")


def _after_refusals(
    run: Run, ground: FixState, attempt: FixAttempt, tried: list[tuple[Candidate, Verification]]
) -> FixState:
    """Return the state after rejected candidates: the others of this rung, or the next rung.

    Raises:
        Ended: nothing is left to try.
    """
    refused = ground.refused | {edits_key(candidate.changes) for candidate, _ in tried}
    if attempt.recalled or all(candidate.recalled_from for candidate, _ in tried):
        # A recalled fix that fails here says nothing about the rungs.
        return ground.with_(refused=refused, recalled=True)
    if _skipped(run, ground, attempt):
        return ground.with_(refused=refused, in_order=True)
    before = fingerprint(ground.report)
    reports = [narrowed(v.runs[-1].report, ground.left_out) for _, v in tried if v.runs]
    # The fingerprint ignores numbers and paths, so a message that only shifts is no progress.
    stuck = ground.stuck + (not reports or any(fingerprint(report) == before for report in reports))
    untried = attempt.candidates[len(tried) :]
    asked = _asked(ground, attempt)
    left = _extend_state(ground.with_(refused=refused), attempt, asked)
    goes_above = bool(_rungs_above(run, ground, asked))
    if untried and stuck < _STUCK_AFTER and not (is_doubted(untried[0]) and goes_above):
        return left.with_(untried=untried, stuck=stuck)
    # On top of a partial fix, the rungs above cannot apply changes of the failing commit.
    doubted = () if ground.changes else tuple(filter(is_doubted, untried))
    left = left.with_(doubted=doubted)
    last = tried[-1][1].reason
    if stuck >= _STUCK_AFTER:
        return _above(
            run,
            left,
            f"the same failure is still there after patches in {stuck} iterations: {last}",
        )
    return _above(run, left, f"no candidate survived its verification: {last}")


def _extend_state(ground: FixState, attempt: FixAttempt, asked: Rung) -> FixState:
    """Return the state with the findings of a search of the ladder."""
    return ground.with_(
        near=attempt.near or ground.near, suspects=attempt.suspects or ground.suspects, asked=asked
    )


def _above(run: Run, ground: FixState, reason: str) -> FixState:
    """Return the state that continues with the next rung.

    Raises:
        Ended: there is none.
    """
    above = _rungs_above(run, ground, ground.asked)
    if not above:
        raise end(Outcome.NO_FIX, reason)
    return ground.with_(untried=(), stuck=0, from_rung=min(above))


def _rungs_above(run: Run, ground: FixState, asked: Rung) -> list[Rung]:
    """Return the rungs above one that may still be asked."""
    usable = usable_rungs(run.context, run.ports.fixers, ground.report)
    return [rung for rung in usable if rung > asked]


def _skipped(run: Run, ground: FixState, attempt: FixAttempt) -> bool:
    """Return True if the climb began with a rung, and ended before it asked the cheaper ones."""
    usable = usable_rungs(run.context, run.ports.fixers, ground.report)
    last = max(attempt.rungs, default=Rung.TOOLS)
    return any(ground.from_rung <= one < last and one not in attempt.rungs for one in usable)


def _asked(ground: FixState, attempt: FixAttempt) -> Rung:
    """Return the highest rung that was asked, after a climb."""
    rungs = (*attempt.rungs, *(candidate.rung for candidate in attempt.candidates))
    return Rung(max((ground.asked, *rungs)))


def _held(run: Run) -> bool:
    """Return True if a model's doubts allow only free rungs."""
    action = run.context.iterations[-1].next_action
    return action is not None and bool(action.held)


def _refused_before(run: Run) -> tuple[str, ...]:
    """Describe the candidates of lower rungs and their rejection."""
    earlier = [i.verification for i in run.context.iterations[:-1] if i.verification is not None]
    return (f"before that: {earlier[-1].reason}",) if earlier and not earlier[-1].partial else ()
