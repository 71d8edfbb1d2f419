"""metaagent serve, web, worker and setup: the processes of the service."""

import argparse
import sys

from bot.commands.options import EXIT_FIXED, Command


def _serve(arguments: argparse.Namespace) -> int:
    from bot.app import serve
    from bot.settings import load_from_options

    settings = load_from_options(vars(arguments))
    # A first start creates the App, then reads the settings that the set-up stored.
    if settings.needs_setup:
        _setup(arguments)
        settings = load_from_options(vars(arguments))
    serve(settings)
    return EXIT_FIXED


def _web(arguments: argparse.Namespace) -> int:
    from bot.app import serve
    from bot.service import Role
    from bot.settings import load_from_options

    serve(load_from_options(vars(arguments)), Role.WEB)
    return EXIT_FIXED


def _worker(arguments: argparse.Namespace) -> int:
    from bot.app import work
    from bot.settings import load_from_options

    work(load_from_options(vars(arguments)))
    return EXIT_FIXED


def _setup(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.setup.run import run_setup

    run_setup(load_from_options(vars(arguments)), print_aside)
    return EXIT_FIXED


def print_aside(text: str) -> None:
    """Print a line on standard error, because standard output carries the result."""
    print(text, file=sys.stderr, flush=True)


SERVE = Command(
    "receive GitHub's webhooks and run missions",
    _serve,
    settings=("host", "port", "workers", "database_url", "data_dir"),
)
WEB = Command(
    "receive webhooks and leave the missions to workers (on PostgreSQL)",
    _web,
    settings=("host", "port", "database_url", "storage.url", "data_dir"),
)
WORKER = Command(
    "run missions only, as one of several (on PostgreSQL)",
    _worker,
    settings=("workers", "workers_total", "database_url", "storage.url", "data_dir"),
)
SETUP = Command(
    "create the GitHub App in your browser and store its keys",
    _setup,
    settings=("host", "port", "public_url", "github_api_url", "data_dir"),
)
