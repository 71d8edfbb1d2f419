"""Report section on a lock file that its package manager wrote: how, and what differs. Pure."""

from bot.domain.counted import counted
from bot.domain.mission import MissionContext
from bot.publish.markdown import Section
from bot.publish.story import Story

PACKAGES = "Packages"
"""Title of the section."""


def changed_packages(context: MissionContext) -> tuple[str, ...]:
    """Return how the lock file of a fix was written, and its packages; empty without one."""
    repair = context.facts.lock_repair if context.facts else None
    if repair is None or context.fix is None:
        return ()
    if all(edit.path != repair.path for edit in context.fix[1].edits):
        return ()
    how = f"{repair.program} wrote `{repair.path}`, without scripts: `{repair.command}`"
    more = (f"and {counted(repair.more, 'more package')}",) if repair.more else ()
    return (how, *(repair.packages or ("no package changes",)), *more)


def packages_section(story: Story) -> Section | None:
    """Return the section; None without a written lock file."""
    lines = changed_packages(story.context)
    body = "\n".join(f"- {story.pen.words(line)}" for line in lines)
    return Section(title=PACKAGES, body=body) if lines else None
