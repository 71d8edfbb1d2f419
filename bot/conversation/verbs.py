"""What can be asked: one entry for each verb, from which `/metaagent help` and the reference are made."""

from collections.abc import Mapping
from types import MappingProxyType

from bot.domain.command import Verb
from sandbox.types import Frozen


class Entry(Frozen):
    """How a verb is used, and what it does."""

    usage: str
    does: str
    options: tuple[str, ...] = ()
    """Keys of OPTIONS it takes."""
    always: bool = True
    """Whether it is answered even where the policy switches us off: it starts no work."""


OPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "check": "the red check, by its name or a part of it that names only one; the same as the target",
        "command": "the command that is red, instead of the one read from the workflow",
        "rungs": "which rungs of the ladder may be climbed, among those the policy allows: `0`, `1`, `0,1`",
        "time-limit": "seconds for one climb of the ladder, at most 600",
        "mission": "the mission that asked, where several did",
    }
)
"""Every option, and what it says."""

_WORK = ("check", "command", "rungs", "time-limit")

VERBS: Mapping[Verb, Entry] = MappingProxyType(
    {
        Verb.FIX: Entry(
            usage="fix [check or file]",
            does="looks for a fix of the red check, proves it by running the tests, and opens a pull request with it",
            options=_WORK,
            always=False,
        ),
        Verb.EXPLAIN: Entry(
            usage="explain [check or file]",
            does="reproduces the failure and says what causes it; changes nothing",
            options=_WORK,
            always=False,
        ),
        Verb.REPRODUCE: Entry(
            usage="reproduce [check]",
            does="runs the failing tests several times and says whether it is a bug, a flake, an outage or older than "
            "this change",
            options=_WORK,
            always=False,
        ),
        Verb.RERUN: Entry(
            usage="rerun [workflow]",
            does="asks GitHub Actions to run the failed jobs of this commit again",
            always=False,
        ),
        Verb.RETRY: Entry(
            usage="retry [check or file]",
            does="`fix` once more, with another seed; forgets how often it was tried",
            options=_WORK,
            always=False,
        ),
        Verb.APPLY: Entry(
            usage="apply [number]",
            does="takes a change that was shown and not pushed, verifies it again and opens a pull request with it",
            options=("mission",),
            always=False,
        ),
        Verb.REJECT: Entry(
            usage="reject [reason]",
            does="closes our pull request, or drops what was proposed; the same change is not proposed again",
            options=("mission",),
        ),
        Verb.UNDO: Entry(
            usage="undo [#pull-request]",
            does="takes a fix of ours back: closes it, reverts the commit we pushed, or opens a pull request that "
            "reverts the merge",
        ),
        Verb.OFF: Entry(
            usage="off [repository]",
            does="turns MetaAgent off for this pull request (or for the whole repository) and stops what runs",
        ),
        Verb.ON: Entry(usage="on [repository]", does="turns it on again"),
        Verb.STATUS: Entry(usage="status", does="says what runs, what was proposed, what is asked, and what is left"),
        Verb.CONFIG: Entry(usage="config", does="shows every setting of this repository and where it comes from"),
        Verb.LESSONS: Entry(usage="lessons [words]", does="shows what was learned here, or what bears on the words"),
        Verb.ANSWER: Entry(
            usage="answer [number, yes, no or words]",
            does="answers the question a mission ended with, which then goes on",
            options=("mission",),
            always=False,
        ),
        Verb.STOP: Entry(usage="stop [repository]", does="stops what waits or runs for this pull request, or anywhere"),
        Verb.HELP: Entry(usage="help", does="shows this"),
    }
)
"""Every verb; a test sees that none is missing."""


def table_of_verbs(*, call: str = "/metaagent") -> tuple[tuple[str, str], ...]:
    """Usage and meaning of every verb, as rows."""
    return tuple((f"`{call} {entry.usage}`", f"{entry.does}.") for entry in VERBS.values())
