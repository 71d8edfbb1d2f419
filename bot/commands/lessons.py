"""metaagent lessons: options, run and exit status."""

import argparse
import json

from bot.commands.options import EXIT_FIXED, EXIT_NOT_FIXED, Command, add_json, read_order

_ACTIONS = ("list", "search", "show", "export", "import", "forget")


def _add_options(parser: argparse.ArgumentParser) -> None:
    text = "list, search or show lessons; write or read them as JSON lines; delete them"
    parser.add_argument("action", choices=_ACTIONS, help=text)
    text = "words to search, the id to show, or the file to write or read (- for standard streams)"
    parser.add_argument("words", metavar="WORD", nargs="*", default=[], help=text)
    text = "folder of a project, or numeric id of a GitHub repository; forget needs it"
    parser.add_argument("--repository", metavar="REPOSITORY", help=text)
    text = "limit of lessons to list or to find (default 20)"
    parser.add_argument("--limit", type=int, default=20, metavar="N", help=text)
    add_json(parser)


def _run(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.lessons import LessonsOrder, run_lessons

    settings = load_from_options(vars(arguments))
    result = run_lessons(read_order(LessonsOrder, arguments), settings)
    text = json.dumps(result.json_object) if arguments.as_json else result.text
    print(text, end="" if text.endswith("\n") else "\n")
    return EXIT_FIXED if result.found else EXIT_NOT_FIXED


LESSONS = Command(
    "list, search, export, import or forget the lessons of missions",
    _run,
    _add_options,
    ("data_dir", "database_url"),
)
