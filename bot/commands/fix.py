"""metaagent fix: options, run and exit status."""

import argparse
import json

from bot.commands.options import (
    EXIT_ERROR,
    EXIT_FIXED,
    EXIT_NOT_FIXED,
    Command,
    add_json,
    add_project,
    add_seed,
    add_test,
    add_time_limit,
    read_order,
)


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_project(parser)
    add_test(parser, "the red command; detected if omitted")
    parser.add_argument("--apply", action="store_true", help="write a verified fix into the folder")
    text = "verify the choice with this number, of the last question about the folder"
    parser.add_argument("--choose", type=int, metavar="N", help=text)
    add_json(parser)
    add_seed(parser)
    add_time_limit(parser)
    text = "rungs to use: 0 tools, 1 search, 2 model (default 0,1,2)"
    parser.add_argument("--rungs", default="0,1,2", help=text)
    text = "write the evidence bundle to this file, for metaagent replay"
    parser.add_argument("--evidence", metavar="FILE", help=text)


def _run(arguments: argparse.Namespace) -> int:
    # Wrong use is reported before the slow imports, in two steps: of the settings, of a mission.
    from bot.terminal.arguments import check_arguments

    check_arguments(arguments)
    from bot.terminal.prepare import check_with_settings

    settings = check_with_settings(arguments)
    from bot.terminal.fix import FixOrder, run_fix

    result = run_fix(read_order(FixOrder, arguments), settings)
    if result.misuse is not None:
        raise result.misuse
    print(json.dumps(result.json_object) if arguments.as_json else result.text)
    return {"FIXED": EXIT_FIXED, "ERROR": EXIT_ERROR}.get(result.outcome, EXIT_NOT_FIXED)


FIX = Command(
    "repair a red working tree on this machine",
    _run,
    _add_options,
    (
        "model",
        "models.usd_per_mission",
        "sandbox.backend",
        "sandbox.max_files",
        "sandbox.test_wall_s",
    ),
)
