"""metaagent pause and resume: the kill switch for all processes of a service."""

import argparse

from bot.commands.options import EXIT_FIXED, Command, read_order
from bot.commands.service import print_aside


def _add_place(parser: argparse.ArgumentParser) -> None:
    text = "an account (acme) or a repository (acme/shop); everything if omitted"
    parser.add_argument("place", metavar="PLACE", nargs="?", default="", help=text)


def _add_options(parser: argparse.ArgumentParser) -> None:
    _add_place(parser)
    parser.add_argument("--now", action="store_true", help="also stop the missions that run there")
    text = "return when no mission runs there any more"
    parser.add_argument("--drain", action="store_true", help=text)
    parser.add_argument("--why", metavar="TEXT", default="", help="reason shown to waiting people")


def _pause(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.pause import PauseOrder, run_pause

    order = read_order(PauseOrder, arguments)
    print(run_pause(order, load_from_options(vars(arguments)), print_aside))
    return EXIT_FIXED


def _resume(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.pause import run_resume

    print(run_resume(arguments.place, load_from_options(vars(arguments))))
    return EXIT_FIXED


_SETTINGS = ("database_url", "data_dir")
PAUSE = Command("start no new missions, in all processes", _pause, _add_options, _SETTINGS)
RESUME = Command("let missions start again", _resume, _add_place, _SETTINGS)
