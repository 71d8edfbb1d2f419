"""metaagent recipe: options, run and exit status."""

import argparse
import json

from bot.commands.options import EXIT_FIXED, EXIT_NOT_FIXED, Command, add_json, read_order


def _add_options(parser: argparse.ArgumentParser) -> None:
    text = "folder of the project (default .)"
    parser.add_argument("path", metavar="PATH", nargs="?", default=".", help=text)
    text = "the workflow: its name, its path, or any file"
    parser.add_argument("--workflow", metavar="FILE", help=text)
    parser.add_argument("--job", metavar="NAME", help="the job: the name of its check, or its id")
    text = "the failed step; the step that runs the tests if omitted"
    parser.add_argument("--step", metavar="NAME", help=text)
    text = "one value of the job's matrix; repeatable"
    parser.add_argument("--matrix", metavar="NAME=VALUE", action="append", default=[], help=text)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.recipe import RecipeOrder, run_recipe

    result = run_recipe(read_order(RecipeOrder, arguments), load_from_options(vars(arguments)))
    if arguments.as_json:
        print(json.dumps(result.json_object))
    else:
        print(result.text, end="")
    return EXIT_FIXED if result.feasible else EXIT_NOT_FIXED


RECIPE = Command(
    "show how a failing job of a workflow would be rebuilt",
    _run,
    _add_options,
    ("sandbox.max_files", "log_level"),
)
