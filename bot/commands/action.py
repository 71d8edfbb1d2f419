"""metaagent action: one step of a GitHub workflow."""

import argparse

from bot.commands.options import Command


def _run(_: argparse.Namespace) -> int:
    from bot.action.run import run_action
    from bot.settings import environment

    return run_action(environment())


ACTION = Command(
    "run as a step of a GitHub workflow, with inputs from its environment",
    _run,
    takes_settings=False,
)
