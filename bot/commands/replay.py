"""metaagent replay: run a verdict again."""

import argparse
import json

from bot.commands.options import (
    EXIT_ERROR,
    EXIT_FIXED,
    EXIT_NOT_FIXED,
    Command,
    add_json,
    read_order,
)


def _add_replay(parser: argparse.ArgumentParser) -> None:
    text = "a file, or the mission or SHA-256 that a pull request names"
    parser.add_argument("path", metavar="BUNDLE", help=text)
    add_json(parser)
    text = "also show the output of the run without the fix"
    parser.add_argument("--keep-red", action="store_true", help=text)


def _replay(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.replay import ReplayOrder, run_replay

    order = read_order(ReplayOrder, arguments)
    result = run_replay(order, load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.as_json else result.text)
    known = {"CONFIRMED": EXIT_FIXED, "NOT CONFIRMED": EXIT_NOT_FIXED}
    return known.get(result.verdict, EXIT_ERROR)


REPLAY = Command(
    "run a verdict again from its evidence bundle",
    _replay,
    _add_replay,
    ("sandbox.backend", "sandbox.index_url", "evidence.bundle_bytes", "storage.url", "data_dir"),
)
