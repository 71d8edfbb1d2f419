"""The verbs of commands, from which `/metaagent help` and the reference are generated."""

from collections.abc import Mapping
from types import MappingProxyType

from bot.domain.command import Verb
from sandbox.types import Frozen


class VerbHelp(Frozen):
    """The usage and description of a verb."""

    usage: str
    does: str
    options: tuple[str, ...] = ()
    """Keys of OPTIONS that it accepts."""
    always: bool = True
    """True for a verb that starts no work; it is answered even where the policy disables us."""


OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "check": "the red check, by its name or an unambiguous part of it; same as the target",
        "test": "the command to repair, instead of the one from the workflow",
        "rungs": "allowed rungs of the ladder, within those of the policy: `0`, `1`, `0,1`",
        "time-limit": "time limit for the search of a fix, in seconds, at most 600",
        "mission": "the mission that asked, if there are several",
    }
)
"""Every option with its description."""

_WORK = ("check", "test", "rungs", "time-limit")

VERBS: Mapping[Verb, VerbHelp] = MappingProxyType(
    {
        Verb.FIX: VerbHelp(
            usage="fix [check or file]",
            does="searches for a fix of the red check, verifies it by running the tests, "
            "and opens a pull request with it",
            options=_WORK,
            always=False,
        ),
        Verb.EXPLAIN: VerbHelp(
            usage="explain [check or file]",
            does="reproduces the failure and reports its cause; changes nothing",
            options=_WORK,
            always=False,
        ),
        Verb.REPRODUCE: VerbHelp(
            usage="reproduce [check]",
            does="runs the failing tests several times and reports whether the failure is a bug, "
            "a flake, an outage or older than this change",
            options=_WORK,
            always=False,
        ),
        Verb.RERUN: VerbHelp(
            usage="rerun [workflow]",
            does="asks GitHub Actions to rerun the failed jobs of this commit",
            always=False,
        ),
        Verb.RETRY: VerbHelp(
            usage="retry [check or file]",
            does="repeats `fix` with another seed, and resets the count of attempts",
            options=_WORK,
            always=False,
        ),
        Verb.IMPROVE: VerbHelp(
            usage="improve [file or folder]",
            does="improves code that is not red, in a pull request with one verified change; "
            "in an issue, it improves the default branch",
            options=("test", "rungs"),
            always=False,
        ),
        Verb.APPLY: VerbHelp(
            usage="apply [number]",
            does="verifies a change that was shown but not pushed, and opens a pull request",
            options=("mission",),
            always=False,
        ),
        Verb.REJECT: VerbHelp(
            usage="reject [reason]",
            does="closes our pull request or drops the proposal; "
            "the same change is not proposed again",
            options=("mission",),
        ),
        Verb.UNDO: VerbHelp(
            usage="undo [#pull-request]",
            does="reverts one of our fixes: closes its pull request, reverts the pushed commit, "
            "or opens a pull request that reverts the merge",
        ),
        Verb.OFF: VerbHelp(
            usage="off [repository]",
            does="turns MetaAgent off for this pull request or the whole repository, "
            "and stops its missions",
        ),
        Verb.ON: VerbHelp(usage="on [repository]", does="turns MetaAgent on again"),
        Verb.STATUS: VerbHelp(
            usage="status",
            does="shows active missions, proposals, open questions and remaining attempts",
        ),
        Verb.CONFIG: VerbHelp(
            usage="config",
            does="shows every policy key of this repository and its source, and the problems of a "
            "policy file that the pull request changes",
        ),
        Verb.LESSONS: VerbHelp(
            usage="lessons [words]", does="shows recent lessons, or those relevant to the words"
        ),
        Verb.ANSWER: VerbHelp(
            usage="answer [number, yes, no or words]",
            does="answers the question of a mission, which then continues",
            options=("mission",),
            always=False,
        ),
        Verb.STOP: VerbHelp(
            usage="stop [repository]",
            does="stops waiting and running missions of this pull request, or of the repository",
        ),
        Verb.HELP: VerbHelp(usage="help", does="shows this help"),
    }
)
"""Every verb; a test checks that none is missing."""


def verb_table(*, call: str = "/metaagent") -> tuple[tuple[str, str], ...]:
    """Return the usage and description of every verb as table rows."""
    return tuple((f"`{call} {entry.usage}`", f"{entry.does}.") for entry in VERBS.values())
