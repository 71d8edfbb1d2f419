"""metaagent policy: options, run and exit status."""

import argparse
import json

from bot.commands.options import EXIT_ERROR, EXIT_FIXED, Command, add_json


def _add_options(parser: argparse.ArgumentParser) -> None:
    text = "validate a policy file and show each problem with its line"
    parser.add_argument("action", choices=("check",), help=text)
    text = "the policy file (default: the one of this folder)"
    parser.add_argument("file", metavar="FILE", nargs="?", help=text)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    from bot.terminal.policy import check_policy

    result = check_policy(arguments.file)
    print(json.dumps(result.json_object) if arguments.as_json else result.text)
    return EXIT_FIXED if result.is_valid else EXIT_ERROR


POLICY = Command(
    "validate a repository's policy file, offline", _run, _add_options, takes_settings=False
)
