"""FIX and VERIFY of one iteration: try the best candidates in fresh workspaces, keep what helps, refuse the rest.

When everything a rung gave is refused, the next iteration climbs on from the rung above it.
"""

from bot.domain.diagnosis import Diagnosis, FailureKind, Suspect
from bot.domain.mission import Outcome
from bot.domain.model import Role
from bot.domain.patch import Candidate, Choice, FixAttempt, NearMiss, Rival, Rung, Verification
from bot.domain.verdict import ChangeReview
from bot.fixers.ladder import with_suspects
from bot.mission.alone import FREE
from bot.mission.analyze import fingerprint
from bot.mission.by_model.review import review_by_model
from bot.mission.choices import Choices, asked_rival, choices_of
from bot.mission.criteria import after_review, denied, unconfirmed
from bot.mission.fix import edits_key, find_fix, usable_rungs, within_policy, without_refused
from bot.mission.reports import narrowed
from bot.mission.run import Run
from bot.mission.steps import Ended, end
from bot.mission.tree import Tree, compose, on_ground
from bot.mission.verify import verify_fix
from sandbox.types import FileChange, Frozen, TestReport

_VERIFIED_PER_ITERATION = 3
_STUCK_AFTER = 2
"""The same fingerprint after a patch so often ends the rung, and on the highest one the mission."""
_UNRANKED = 0.4
"""Below this score a candidate's rivals cannot be told apart by rank."""


class Ground(Frozen):
    """What an iteration stands on."""

    changes: tuple[FileChange, ...] = ()
    """Partial fixes so far, on top of the failing commit."""
    report: TestReport
    """The red run of exactly that tree, without tests that are left out."""
    left_out: frozenset[str] = frozenset()
    """Flaky tests, and those that were red on the base commit."""
    untried: tuple[Candidate, ...] = ()
    """Candidates of the last climb that no iteration has verified yet."""
    refused: frozenset[str] = frozenset()
    stuck: int = 0
    retried: bool = False
    from_rung: Rung = Rung.TOOLS
    """What the rungs below gave was refused."""
    asked: Rung = Rung.TOOLS
    """The highest rung that was asked since."""
    near: tuple[NearMiss, ...] = ()
    """What the rungs below found that mends a part."""
    suspects: tuple[Suspect, ...] = ()
    """Where they looked, most suspect first."""


async def mend(run: Run, tree: Tree, ground: Ground, diagnosis: Diagnosis) -> Ground:
    """Find candidates and verify the best; raises when that ends the mission.

    Args:
        run: The mission.
        tree: Its workspace.
        ground: What the iteration stands on.
        diagnosis: Where to look.

    Raises:
        Ended: fixed, nothing left to try, or a question to a human.
    """
    attempt = FixAttempt(candidates=ground.untried, notes=("candidates left from the last climb",))
    if not ground.untried:
        attempt = await _climb(run, tree, ground, diagnosis)
    run.note(attempt=attempt)
    if not attempt.candidates and attempt.question:
        raise end(Outcome.NEEDS_HUMAN, _exhausted(attempt), question=attempt.question)
    if not attempt.candidates:
        exhausted = "; ".join((_exhausted(attempt), *_refused_before(run)))
        return _above(run, _known(ground, attempt, Rung.SEARCH if _held(run) else Rung.MODEL), exhausted)
    tried: list[tuple[Candidate, Verification]] = []
    for number, candidate in enumerate(attempt.candidates[:_VERIFIED_PER_ITERATION], start=1):
        verification = await _verify(run, candidate, number)
        tried.append((candidate, verification))
        run.note(candidate=candidate, verification=verification)
        if verification.flaky:
            raise _flaky(run, verification)
        if verification.green or verification.partial:
            run.know(acceptance_criteria=verification.criteria)
            break
    candidate, verification = tried[-1]
    if verification.green:
        ending = _fixed(candidate, verification)
        if ending.trouble.outcome is Outcome.NEEDS_HUMAN:
            run.know(choices=await _choices(run, tree, attempt))
        raise ending
    if verification.partial:
        left = narrowed(_whole(verification), ground.left_out)
        return Ground(changes=candidate.changes, report=left, left_out=ground.left_out, refused=ground.refused)
    return _after_refusals(run, ground, attempt, tried)


async def _climb(run: Run, tree: Tree, ground: Ground, diagnosis: Diagnosis) -> FixAttempt:
    """Ask the ladder; its candidates come back as changes of the failing commit, whatever they stand on."""

    async def climb() -> FixAttempt:
        workspace = on_ground(await tree.at(ground.changes), ground.changes)
        shown = run.context.with_(test_results=ground.report, near_misses=ground.near)
        tree.touched()
        fixers = tuple(
            fixer
            for fixer in run.ports.fixers
            if fixer.rung >= ground.from_rung and (fixer.rung in FREE or not _held(run))
        )
        found = await find_fix(
            shown,
            with_suspects(diagnosis, ground.suspects),
            workspace,
            fixers=fixers,
            limits=run.ports.limits,
            clock=run.ports.clock,
        )
        whole = tuple(c.with_(changes=compose(ground.changes, c.changes)) for c in found.candidates)
        permitted = within_policy(found.with_(candidates=whole), run.context.policy)
        return without_refused(permitted, ground.refused)

    attempt = await run.stage("fix", FixAttempt, climb, detail=diagnosis.title)
    run.bill(attempt.calls)
    return attempt


async def _verify(run: Run, candidate: Candidate, number: int) -> Verification:
    """The verdict on one candidate; where there is a model, one that is green has to stand its critique too."""

    async def verify() -> Verification:
        found = await verify_fix(candidate, run.context, run.checkout, run.ports.open_workspace, clock=run.ports.clock)
        return await _reviewed(run, candidate, found) if found.green else found

    return await run.stage(f"verify-{number}", Verification, verify, detail=candidate.title)


async def _reviewed(run: Run, candidate: Candidate, found: Verification) -> Verification:
    """The verdict after a model's critique of the change: it can refuse what is green, and never the other way."""
    threshold = run.ports.limits.change_threshold
    own = any(criterion.critical and criterion.check is None for criterion in found.criteria)
    if not run.mind.has(Role.JUDGE) or (threshold <= 0.0 and not own):
        return found
    review = await run.mind.or_rules(
        ChangeReview(by="rules"),
        lambda models, none: review_by_model(models, none, candidate, found, context=run.context),
    )
    criteria = after_review(found.criteria, review.criteria)
    reviewed = found.with_(criteria=criteria, review=review, not_verified=(*found.not_verified, *unconfirmed(criteria)))
    if review.score is not None and review.score < threshold:
        reason = f"refused by self-critique ({review.score:.2f}, below {threshold:.2f}): {review.justification}"
    elif unmet := denied(criteria):
        reason = f"a critical criterion of the model does not hold: {unmet[0].description}"
    else:
        return reviewed
    return reviewed.with_(green=False, reason=reason, review=review.with_(refused=True))


async def _choices(run: Run, tree: Tree, attempt: FixAttempt) -> tuple[Choice, ...]:
    """Write down what the person who is asked may choose from."""
    candidate, verification = run.context.iterations[-1].candidate, run.context.iterations[-1].verification
    if candidate is None or verification is None:
        return ()
    stage = await run.stage("choices", Choices, lambda: choices_of(candidate, verification, attempt, tree))
    return stage.choices


def _fixed(candidate: Candidate, verification: Verification) -> Ended:
    """Green: fixed, unless the fixer itself does not believe it, or a rival cannot be told apart by rank."""
    rival = asked_rival(candidate)
    if not candidate.confident:
        reason = f"{candidate.title} makes every test pass, but {_why_unsure(candidate)}"
        return end(Outcome.NEEDS_HUMAN, reason, question=_question(candidate, rival))
    if candidate.behaviours > 1 and candidate.score < _UNRANKED and rival is not None:
        reason = f"{candidate.behaviours} fixes pass every test and behave differently"
        return end(Outcome.NEEDS_HUMAN, reason, question=_question(candidate, rival))
    return end(Outcome.FIXED, verification.reason)


def _why_unsure(candidate: Candidate) -> str:
    others = candidate.behaviours - 1
    if others:
        return (
            "so does 1 fix that behaves differently" if others == 1 else f"so do {others} fixes that behave differently"
        )
    return "there is too little to believe it by"


def _question(candidate: Candidate, rival: Rival | None) -> str:
    """Which fix is meant, by the smallest input that tells two of them apart; or whether the only one is."""
    if rival is None:
        return f"Is this what is meant: `{candidate.title}`? {candidate.explanation}"
    asked = (
        f"Which is meant: `{candidate.title}`, or `{rival.description}` ({rival.path} line {rival.line})? "
        f"They differ on: {rival.distinguishing_input}"
    )
    if not any(rival.results):
        return asked
    return f"{asked}, where the first gives {rival.results[0]} and the second {rival.results[1]}"


def _flaky(run: Run, verification: Verification) -> Exception:
    """Green without any change: what triage took for steady is not."""
    triage = run.context.triage
    if triage is None:
        return end(Outcome.FLAKY, verification.reason)
    runs = triage.runs + 1
    reason = f"the same commit was red in {triage.red_runs} of {runs} runs, and green without any change in the last"
    run.know(triage=triage.with_(kind=FailureKind.FLAKE, reason=reason, runs=runs))
    return end(Outcome.FLAKY, reason)


def _whole(verification: Verification) -> TestReport:
    """The run of the whole command on the partly mended tree."""
    return next(run.report for run in reversed(verification.runs) if run.label == "full command")


def _after_refusals(
    run: Run, ground: Ground, attempt: FixAttempt, tried: list[tuple[Candidate, Verification]]
) -> Ground:
    """Everything is reverted; what is left to try, if anything."""
    before = fingerprint(ground.report)
    reports = [narrowed(v.runs[-1].report, ground.left_out) for _, v in tried if v.runs]
    stuck = ground.stuck + (not reports or any(fingerprint(report) == before for report in reports))
    untried = attempt.candidates[len(tried) :]
    asked = Rung(max(ground.asked, *attempt.rungs, *(candidate.rung for candidate in attempt.candidates)))
    refused = ground.refused | {edits_key(candidate.changes) for candidate, _ in tried}
    left = _known(ground.with_(refused=refused), attempt, asked)
    if untried and stuck < _STUCK_AFTER:
        return left.with_(untried=untried, stuck=stuck)
    last = tried[-1][1].reason
    if stuck >= _STUCK_AFTER:
        return _above(run, left, f"the same failure is still there after patches in {stuck} iterations: {last}")
    return _above(run, left, f"no candidate survived its verification: {last}")


def _known(ground: Ground, attempt: FixAttempt, asked: Rung) -> Ground:
    """The ground with what a climb found on the way."""
    return ground.with_(near=attempt.near or ground.near, suspects=attempt.suspects or ground.suspects, asked=asked)


def _above(run: Run, ground: Ground, reason: str) -> Ground:
    """To climb on from the next rung that was not asked yet; without one the mission ends."""
    above = [rung for rung in usable_rungs(run.context, run.ports.fixers, ground.report) if rung > ground.asked]
    if not above:
        raise end(Outcome.NO_FIX, reason)
    return ground.with_(untried=(), stuck=0, from_rung=min(above))


def _held(run: Run) -> bool:
    """Whether a model's doubts leave only what costs nothing."""
    action = run.context.iterations[-1].next_action
    return action is not None and bool(action.held)


def _refused_before(run: Run) -> tuple[str, ...]:
    """What became of the candidates of the rungs below."""
    earlier = [i.verification for i in run.context.iterations[:-1] if i.verification is not None]
    return (f"before that: {earlier[-1].reason}",) if earlier and not earlier[-1].partial else ()


def _exhausted(attempt: FixAttempt) -> str:
    """Why nothing could be proposed, rung by rung."""
    count = attempt.candidates_tried
    tried = f"{count or 'no'} {'candidates' if count > 1 else 'candidate'} tried"
    return "; ".join(("the ladder is exhausted", tried, *attempt.notes[:5]))
