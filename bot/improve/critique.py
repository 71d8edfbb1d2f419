"""Score an improvement that passed its checks."""

from bot.improve.values import Check, Evaluation, Improvement
from sandbox.diffs import line_changes

_PROVED = 0.8
"""Score of a change whose rule proves that behaviour stays the same."""
_UNPROVED = 0.5
"""Score of a model's change without a test; below the usual threshold on purpose."""
_TESTED = 0.3
_LARGE_CHANGE = 0.2
_LARGE_SHARE = 0.5
"""Share of changed lines from which a change counts as a rewrite."""
_MOST = 0.95


def score_by_rules(
    improvement: Improvement, old: bytes, new: bytes, checks: tuple[Check, ...]
) -> tuple[float, str]:
    """Return the score of a change, and its reasons.

    Args:
        improvement: The improvement.
        old: The old content.
        new: The new content.
        checks: The checks that passed.
    """
    is_tested = any(check.proves for check in checks)
    score = _PROVED if improvement.rule else _UNPROVED
    reasons = ["proved by its rule" if improvement.rule else "proposed by a model"]
    if is_tested:
        score += _TESTED
    reasons.append("tested before and after" if is_tested else "no test ran")
    if not improvement.rule and _changed_share(old, new) > _LARGE_SHARE:
        score -= _LARGE_CHANGE
        reasons.append("rewrites most of the file")
    return round(min(score, _MOST), 3), ", ".join(reasons)


def with_critique(
    checks: tuple[Check, ...], score: float, justification: str, threshold: float
) -> Evaluation:
    """Return the evaluation with the critique as its last check.

    Args:
        checks: The checks that passed.
        score: The score.
        justification: Its reasons.
        threshold: The lowest score that is accepted.
    """
    passed = score >= threshold
    detail = f"{score:g} {'reaches' if passed else 'is below'} {threshold:g}: {justification}"
    critique = Check(name="critique", passed=passed, detail=detail, proves=False)
    return Evaluation(checks=(*checks, critique), score=score, justification=justification)


def _changed_share(old: bytes, new: bytes) -> float:
    """Return the share of the lines that changed, of the longer version."""
    before, after = (text.decode(errors="replace").splitlines() for text in (old, new))
    changed = sum(end - start for start, end, _, _ in line_changes(before, after))
    same = len(before) - changed
    return 1 - same / max(len(before), len(after), 1)
