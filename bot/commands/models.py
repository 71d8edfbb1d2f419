"""metaagent models and prompts: the configured language models and their prompts."""

import argparse
import json

from bot.commands.options import EXIT_FIXED, EXIT_NOT_FIXED, Command, add_json, read_order


def _add_models(parser: argparse.ArgumentParser) -> None:
    text = "show: list the configured models and their expected cost; check: ask each of them once"
    parser.add_argument(
        "action",
        choices=("show", "check"),
        nargs="?",
        default="show",
        help=f"{text} (default: show)",
    )
    text = "ask two more questions with a long text, to test whether the server caches it"
    parser.add_argument("--caching", action="store_true", help=text)
    add_json(parser)


def _models(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.models import ModelsOrder, run_models_check, run_models_show

    settings = load_from_options(vars(arguments))
    if arguments.action == "show":
        result = run_models_show(settings)
    else:
        result = run_models_check(read_order(ModelsOrder, arguments), settings)
    print(json.dumps(result.json_object) if arguments.as_json else result.text)
    return EXIT_FIXED if result.all_answer else EXIT_NOT_FIXED


def _add_prompts(parser: argparse.ArgumentParser) -> None:
    text = "render one prompt, or list them all"
    parser.add_argument("action", choices=("show", "list"), help=text)
    parser.add_argument("name", metavar="NAME", nargs="?", help="the prompt to show")
    text = "fill a gap with foreign text; repeatable; other gaps stay empty"
    name = "NAME=TEXT"
    parser.add_argument("--gap", dest="gaps", metavar=name, action="append", default=[], help=text)
    add_json(parser)


def _prompts(arguments: argparse.Namespace) -> int:
    from bot.errors import UsageError
    from bot.terminal.prompts import PromptsOrder, run_prompts

    if (arguments.name is None) == (arguments.action == "show"):
        raise UsageError("prompts show takes the name of a prompt, prompts list takes none")
    result = run_prompts(read_order(PromptsOrder, arguments))
    print(json.dumps(result.json_object) if arguments.as_json else result.text)
    return EXIT_FIXED


MODELS = Command(
    "show the configured models and their expected cost, or ask each for an answer",
    _models,
    _add_models,
    ("model", "model_judge", "model_fix", "model_agent", "models.timeout_s"),
)
PROMPTS = Command("show the prompts for models", _prompts, _add_prompts, takes_settings=False)
