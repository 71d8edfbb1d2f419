"""metaagent repair: options, run and exit status."""

import argparse
import json

from bot.commands.options import (
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
    add_test(parser, "the red pytest or unittest command; detected if omitted")
    add_time_limit(parser)
    parser.add_argument("--candidates", type=int, metavar="N", help="limit of candidates to try")
    text = "limit of candidates to show (default 5)"
    parser.add_argument("--show", type=int, default=5, metavar="N", help=text)
    text = "hide half of the passing tests from the search and judge its results by them"
    parser.add_argument("--half", action="store_true", help=text)
    add_seed(parser)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    # Wrong use is reported before the slow imports, in two steps: of the settings, of a mission.
    from bot.terminal.arguments import check_arguments

    check_arguments(arguments)
    from bot.terminal.prepare import check_with_settings

    settings = check_with_settings(arguments)
    from bot.terminal.repair import RepairOrder, run_repair

    result = run_repair(read_order(RepairOrder, arguments), settings)
    if result.misuse is not None:
        raise result.misuse
    if arguments.as_json:
        print(json.dumps(result.json_object))
    else:
        print(result.text, end="")
    return EXIT_FIXED if result.found else EXIT_NOT_FIXED


REPAIR = Command(
    "search for fixes of a red working tree and show them, ranked",
    _run,
    _add_options,
    (
        "sandbox.backend",
        "sandbox.max_files",
        "sandbox.memory_bytes",
        "sandbox.test_wall_s",
        "data_dir",
    ),
)
