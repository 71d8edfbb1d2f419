"""metaagent simulate: options, run and exit status."""

import argparse
import json

from bot.commands.options import EXIT_FIXED, Command, add_json, read_order


def _add_options(parser: argparse.ArgumentParser) -> None:
    text = "file with the body of a webhook; - is standard input"
    parser.add_argument("path", metavar="PAYLOAD", help=text)
    text = "the webhook's event; detected from the payload if omitted"
    parser.add_argument("--event", metavar="NAME", help=text)
    parser.add_argument("--offline", action="store_true", help="do not ask GitHub")
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.simulate import SimulateOrder, run_simulate

    result = run_simulate(read_order(SimulateOrder, arguments), load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.as_json else result.text)
    return EXIT_FIXED


SIMULATE = Command(
    "show what a webhook would start, and write nothing",
    _run,
    _add_options,
    ("app_id", "private_key_file", "github_api_url", "database_url", "data_dir"),
)
