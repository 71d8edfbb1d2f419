"""Options that several commands share, and the settings as options."""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, TypeVar

from typing_extensions import override

# 2 is also argparse's own exit status for wrong use.
EXIT_FIXED = 0
EXIT_NOT_FIXED = 1
EXIT_ERROR = 2

Order = TypeVar("Order")

COMMON: Mapping[str, str] = MappingProxyType(
    {
        "app_id": "numeric id of the GitHub App",
        "data_dir": "folder of databases, stored values and caches",
        "database_url": "the service's database, for example postgresql://…",
        "evidence.bundle_bytes": "size limit of an evidence bundle, in bytes",
        "github_api_url": "address of GitHub's API",
        "host": "address to listen on",
        "log_level": "lowest level logged: debug, info, warning or error",
        "model": "language model, for example anthropic:NAME",
        "model_agent": "coding agent, for example codex-cli:NAME",
        "model_fix": "another model for fixing",
        "model_judge": "another model for judging",
        "models.timeout_s": "time limit for one answer, in seconds",
        "models.usd_per_mission": "most that models may cost in one mission, in US dollars",
        "port": "port to listen on",
        "private_key_file": "file with the private key of the GitHub App",
        "public_url": "address under which GitHub reaches this service",
        "sandbox.backend": "where the project's code runs: docker or local",
        "sandbox.debian_packages": "further Debian packages of the image that is built",
        "sandbox.debian_suite": "Debian release of the image that is built",
        "sandbox.environments_bytes": "size limit of all kept environments, in bytes",
        "sandbox.environments_days": "environments unused for longer are removed, in days",
        "sandbox.image": "image to pull instead of building one",
        "sandbox.index_url": "package index for the set-up",
        "sandbox.max_files": "limit of files in the project",
        "sandbox.memory_bytes": "memory of one sandbox, in bytes",
        "sandbox.test_wall_s": "time limit for one run of the tests, in seconds",
        "storage.url": "s3://BUCKET/PREFIX or file:///… for large values",
        "workers": "missions that run at the same time in this process",
        "workers_total": "missions that run at the same time in all processes",
    }
)
"""Help texts of the settings that a command's help shows. They are repeated here, because importing
the settings takes 0.2 s."""


@dataclass(frozen=True)
class Command:
    """One command of the command line."""

    help: str
    run: Callable[[argparse.Namespace], int]
    """Runs it and returns its exit status. Heavy modules are imported inside."""
    add_options: Callable[[argparse.ArgumentParser], None] = lambda _: None
    settings: tuple[str, ...] = ()
    """The settings that its help shows: the keys that people use with it, at most five."""
    takes_settings: bool = True
    report_error: Callable[[BaseException], int] | None = None
    """Reports every error, also wrong use, and returns the exit status; None takes the usual way.
    """


def read_order(kind: type[Order], arguments: argparse.Namespace) -> Order:
    """Return the order of a command: each field takes the value of the option with its name."""
    values = vars(arguments)
    chosen = {f.name: values[f.name] for f in fields(kind) if f.name in values}  # type: ignore[arg-type]
    return kind(**chosen)


def add_project(parser: argparse.ArgumentParser) -> None:
    """Add the folder of a project and the revision it was green at."""
    since = (
        "commit it was green at, in a git checkout (default: the parent of HEAD, and HEAD if "
        "sources differ from it)"
    )
    parser.add_argument("path", metavar="PATH", help="folder of the project")
    parser.add_argument("--since", metavar="REV", help=since)


def add_test(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the red command."""
    parser.add_argument("--test", dest="command", metavar="COMMAND", help=text)
    _add_former(parser, "--test-command", "--command", name="--test", dest="command")


def add_time_limit(parser: argparse.ArgumentParser) -> None:
    """Add the time limit of the search."""
    text = "time limit for the search of a fix, in seconds (default: the setting limits.time_limit)"
    parser.add_argument(
        "--time-limit", dest="time_limit_s", type=float, metavar="SECONDS", help=text
    )
    _add_former(parser, "--seconds", name="--time-limit", dest="time_limit_s", kind=float)


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add the seed."""
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random (default 0)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the switch for one JSON object as output."""
    text = "print one JSON object and nothing else"
    parser.add_argument("--json", dest="as_json", action="store_true", help=text)


def add_settings(parser: argparse.ArgumentParser, shown: tuple[str, ...]) -> None:
    """Add a few settings with a line of help, and the options that set any setting.

    Args:
        parser: The parser of one command.
        shown: Keys of the settings that the help shows.
    """
    group = parser.add_argument_group("settings", "all others: metaagent settings")
    for key in shown:
        group.add_argument(_option(key), dest=f"setting:{key}", metavar="VALUE", help=COMMON[key])
    text = "set any setting, for example --set sandbox.cpus=4; repeatable"
    group.add_argument("--set", metavar="KEY=VALUE", action=_Set, help=text)
    text = "settings file (default: metaagent.toml if it exists)"
    group.add_argument("--config", metavar="FILE", help=text)


def add_hidden_settings(parser: argparse.ArgumentParser, shown: tuple[str, ...]) -> None:
    """Add the options of all other settings, without help; this imports the settings.

    Args:
        parser: The parser of one command.
        shown: Keys of the settings that it has already.
    """
    from bot.settings import OLD_KEYS, leaves

    for leaf in leaves():
        if leaf.key not in shown:
            name = f"setting:{leaf.key}"
            parser.add_argument(leaf.option, dest=name, help=argparse.SUPPRESS)
    for key in OLD_KEYS:
        parser.add_argument(_option(key), dest=f"setting:{key}", help=argparse.SUPPRESS)


def _option(key: str) -> str:
    return "--" + key.replace(".", "-").replace("_", "-")


def _add_former(
    parser: argparse.ArgumentParser,
    *former: str,
    name: str,
    dest: str,
    kind: Callable[[str], Any] = str,
) -> None:
    parser.add_argument(
        *former,
        dest=dest,
        const=name,
        type=kind,
        action=_Former,
        help=argparse.SUPPRESS,
        default=argparse.SUPPRESS,
    )


class _Former(argparse.Action):
    """A former name of an option: understood, reported as deprecated, and absent from the help."""

    @override
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        print(f"metaagent: {option_string} is deprecated: use {self.const}", file=sys.stderr)
        setattr(namespace, self.dest, values)


class _Set(argparse.Action):
    """`--set KEY=VALUE`: the same as the option of that setting."""

    @override
    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        key, equals, value = str(values).partition("=")
        if not equals or not key.strip():
            parser.error(f"argument --set: {values!a} is not KEY=VALUE")
        setattr(namespace, f"setting:{key.strip()}", value)
