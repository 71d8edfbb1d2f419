"""The command line; each command of `bot/commands/` imports its heavy modules when it runs."""

import argparse
import json
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NoReturn

from typing_extensions import override

from bot import __version__
from bot.commands.action import ACTION
from bot.commands.completion import COMPLETION
from bot.commands.fix import FIX
from bot.commands.host import DB, DOCTOR, IMAGE, SETTINGS
from bot.commands.improve import IMPROVE
from bot.commands.lessons import LESSONS
from bot.commands.missions import CANCEL, LOG, LOGS, MISSIONS, REPORT, SHOW
from bot.commands.models import MODELS, PROMPTS
from bot.commands.options import EXIT_ERROR, Command, add_hidden_settings, add_settings
from bot.commands.pause import PAUSE, RESUME
from bot.commands.policy import POLICY
from bot.commands.recipe import RECIPE
from bot.commands.repair import REPAIR
from bot.commands.replay import REPLAY
from bot.commands.service import SERVE, SETUP, WEB, WORKER
from bot.commands.simulate import SIMULATE

_EPILOG = """\
`metaagent settings [WORD]` lists the settings. Give one as --set sandbox.memory_bytes=N,
as the variable METAAGENT_SANDBOX__MEMORY_BYTES, or in metaagent.toml.

Exit status: 0 done (for fix: FIXED; for repair: a fix is shown), 1 another outcome,
2 wrong use or an error of ours.
"""

COMMANDS: Mapping[str, Command] = MappingProxyType(
    {
        "serve": SERVE,
        "web": WEB,
        "worker": WORKER,
        "pause": PAUSE,
        "resume": RESUME,
        "missions": MISSIONS,
        "show": SHOW,
        "logs": LOGS,
        "cancel": CANCEL,
        "report": REPORT,
        "fix": FIX,
        "repair": REPAIR,
        "improve": IMPROVE,
        "replay": REPLAY,
        "recipe": RECIPE,
        "policy": POLICY,
        "lessons": LESSONS,
        "simulate": SIMULATE,
        "action": ACTION,
        "setup": SETUP,
        "doctor": DOCTOR,
        "db": DB,
        "models": MODELS,
        "prompts": PROMPTS,
        "image": IMAGE,
        "settings": SETTINGS,
        "completion": COMPLETION,
        "log": LOG,
    }
)
"""All commands, in the order of the help."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = COMMANDS.get(_chosen(words) or "")
    if command is not None and command.report_error is not None:
        try:
            return command.run(build_parser(words).parse_args(words))
        except (Exception, KeyboardInterrupt) as error:  # its output has one form for all errors
            return command.report_error(error)
    parser = build_parser(words)
    arguments = parser.parse_args(words)
    if arguments.command_name is None:
        parser.print_help()
        return EXIT_ERROR
    from bot.errors import MetaAgentError
    from sandbox.errors import SandboxError

    as_json = bool(getattr(arguments, "as_json", False))
    try:
        return COMMANDS[arguments.command_name].run(arguments)
    except (MetaAgentError, SandboxError) as error:
        _print_error(error, as_json=as_json)
        return EXIT_ERROR
    except Exception as error:  # the status of an error, not of another outcome
        traceback.print_exc(file=sys.stderr)
        message = (
            f"something broke inside MetaAgent ({type(error).__name__}); this is our fault, "
            "not yours"
        )
        _print_error(MetaAgentError(message, "report it with the lines above"), as_json=as_json)
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("metaagent: stopped", file=sys.stderr)
        return 130


def build_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser for a command line; only the command that it names gets its settings.

    Args:
        words: The command line. Without a need for them, the hidden options are left out, because
            importing the settings takes as long as everything else.
    """
    chosen = _chosen(words)
    parser = _Parser(
        prog="metaagent",
        description="Turns a red CI check into a reviewed fix.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"metaagent {__version__}")
    parser.set_defaults(commands=COMMANDS)
    subparsers = parser.add_subparsers(dest="command_name", metavar="COMMAND")
    parser.raises = chosen is not None and _reports_errors(chosen)
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=command.help)
        subparser.raises = parser.raises
        command.add_options(subparser)
        if name == chosen and command.takes_settings:
            add_settings(subparser, command.settings)
            if not subparser.knows(words):
                add_hidden_settings(subparser, command.settings)
    return parser


def _chosen(words: Sequence[str]) -> str | None:
    """Return the name of the command in a command line."""
    return next((word for word in words if not word.startswith("-")), None)


def _reports_errors(name: str) -> bool:
    return name in COMMANDS and COMMANDS[name].report_error is not None


class _Parser(argparse.ArgumentParser):
    """A parser that raises errors if the command reports them itself."""

    raises = False

    def knows(self, words: Sequence[str]) -> bool:
        """Return True if all options of a command line are known, or if it asks for help."""
        if {"-h", "--help"} & set(words):
            return True
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        return options <= self._option_string_actions.keys()

    @override
    def error(self, message: str) -> NoReturn:
        if not self.raises:
            super().error(message)
        from bot.errors import UsageError

        raise UsageError(message, f"see {self.prog} --help")


def _print_error(error: Exception, *, as_json: bool) -> None:
    message, advice = getattr(error, "message", str(error)), getattr(error, "advice", "")
    if as_json:
        fault = str(getattr(error, "fault", "us"))
        print(
            json.dumps({"outcome": "ERROR", "fault": fault, "message": message, "advice": advice})
        )
    else:
        print(f"metaagent: {message}" + (f"\n  {advice}" if advice else ""), file=sys.stderr)
