"""metaagent missions, show, logs, cancel and report: look at missions, and stop one."""

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from bot.commands.options import EXIT_FIXED, EXIT_NOT_FIXED, Command, add_json, read_order

_OUTCOMES = (
    "FIXED",
    "IMPROVED",
    "PARTIAL",
    "NOT_REPRODUCED",
    "FLAKY",
    "BASE_RED",
    "INFRA",
    "ENV_UNBUILDABLE",
    "NEEDS_HUMAN",
    "NO_FIX",
    "BUDGET",
    "STALE",
    "DUPLICATE",
    "POLICY",
    "CANCELLED",
    "ERROR",
)
"""Repeated here, because importing the domain takes 0.2 s."""
_SETTINGS = ("database_url", "data_dir")


def _add_missions(parser: argparse.ArgumentParser) -> None:
    text = "only this repository (acme/shop) or folder"
    parser.add_argument("--repository", metavar="PLACE", default="", help=text)
    parser.add_argument("--outcome", choices=_OUTCOMES, default="", help="only this outcome")
    text = "only missions in this state"
    parser.add_argument("--state", choices=("waiting", "running", "ended"), default="", help=text)
    text = "only missions since then: an age (30m, 12h, 1d, 2w) or a date"
    parser.add_argument("--since", metavar="TIME", default="", help=text)
    text = "limit of missions to list (default 20)"
    parser.add_argument("--limit", type=int, default=20, metavar="N", help=text)
    text = "continue a list with older missions"
    parser.add_argument("--before", type=int, metavar="N", help=text)
    add_json(parser)


def _missions(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.missions import MissionsOrder, run_missions

    order = read_order(MissionsOrder, arguments)
    return _print(run_missions(order, load_from_options(vars(arguments))), arguments)


def _add_mission(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("mission", metavar="MISSION", help="its id, as a pull request names it")
    add_json(parser)


def _show(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.missions import run_show

    return _print(run_show(arguments.mission, load_from_options(vars(arguments))), arguments)


def _cancel(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.missions import run_cancel

    return _print(run_cancel(arguments.mission, load_from_options(vars(arguments))), arguments)


def _logs(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.log import run_log

    text = run_log(arguments.mission, load_from_options(vars(arguments)))
    print(
        json.dumps([json.loads(line) for line in text.splitlines()]) if arguments.as_json else text
    )
    return EXIT_FIXED


def _add_report(parser: argparse.ArgumentParser) -> None:
    text = "an age (30m, 12h, 1d, 2w) or a date (default 1d)"
    parser.add_argument("--since", metavar="TIME", default="1d", help=text)
    add_json(parser)


def _report(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.report import run_report

    return _print(run_report(arguments.since, load_from_options(vars(arguments))), arguments)


def _print(result: Any, arguments: argparse.Namespace) -> int:
    print(json.dumps(result.json_object) if arguments.as_json else result.text)
    return EXIT_FIXED if result.found else EXIT_NOT_FIXED


def _renamed(
    run: Callable[[argparse.Namespace], int], old: str, new: str
) -> Callable[[argparse.Namespace], int]:
    """Return the run of a command under its former name."""

    def run_and_tell(arguments: argparse.Namespace) -> int:
        print(f"metaagent: `{old}` is deprecated: use `{new}`", file=sys.stderr)
        return run(arguments)

    return run_and_tell


MISSIONS = Command("list missions, newest first", _missions, _add_missions, _SETTINGS)
SHOW = Command("show a mission: record, stages and change", _show, _add_mission, _SETTINGS)
LOGS = Command("show the log of a mission", _logs, _add_mission, ("storage.url", "data_dir"))
LOG = Command(
    "former name of `logs`",
    _renamed(_logs, "log", "logs"),
    _add_mission,
    ("storage.url", "data_dir"),
)
CANCEL = Command("stop a waiting or running mission", _cancel, _add_mission, _SETTINGS)
REPORT = Command("tell what happened since yesterday", _report, _add_report, _SETTINGS)
