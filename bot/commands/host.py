"""metaagent doctor, db, image and settings: the host that MetaAgent runs on."""

import argparse
import json

from bot.commands.options import EXIT_FIXED, EXIT_NOT_FIXED, Command, add_json


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    text = (
        "also ask GitHub: rights, events, whether webhooks arrive, whether CI runs on our commits"
    )
    parser.add_argument("--live", action="store_true", help=text)
    text = "check only what this way of running needs; everything if omitted"
    faces = ("terminal", "action", "service")
    parser.add_argument("--for", dest="face", choices=faces, help=text)
    add_json(parser)


def _doctor(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.setup.finding import render
    from bot.terminal.doctor import examine

    findings = examine(load_from_options(vars(arguments)), live=arguments.live, face=arguments.face)
    if arguments.as_json:
        print(json.dumps([finding.model_dump() for finding in findings]))
    else:
        print(render(findings))
    return EXIT_NOT_FIXED if any(finding.state == "missing" for finding in findings) else EXIT_FIXED


def _add_db(parser: argparse.ArgumentParser) -> None:
    text = (
        "upgrade the tables, copy the databases while they are in use, or check that they are sound"
    )
    parser.add_argument("action", choices=("upgrade", "backup", "check"), help=text)
    text = "output of backup: a folder, or a file on PostgreSQL"
    parser.add_argument("target", metavar="TARGET", nargs="?", help=text)
    add_json(parser)


def _db(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.db import run_db

    result = run_db(arguments.action, arguments.target, load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.as_json else result.text)
    return EXIT_FIXED if result.sound else EXIT_NOT_FIXED


def _add_image(parser: argparse.ArgumentParser) -> None:
    text = "also remove environments over the limits of age and size"
    parser.add_argument("--prune", action="store_true", help=text)


def _image(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.wiring.mission_services import prepare_image

    toolchain, kept = prepare_image(load_from_options(vars(arguments)), prune=arguments.prune)
    print(toolchain)
    if arguments.prune:
        freed = f"{kept.removed} removed ({kept.removed_bytes / (1 << 20):.0f} MiB)"
        print(f"{freed}, {kept.count} environments kept ({kept.size / (1 << 20):.0f} MiB)")
    return EXIT_FIXED


def _add_list(parser: argparse.ArgumentParser) -> None:
    text = "list only settings with this word in name or description"
    parser.add_argument("word", metavar="WORD", nargs="?", default="", help=text)
    add_json(parser)


def _list(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.terminal.settings_list import list_settings, settings_text

    rows = list_settings(load_from_options(vars(arguments)), arguments.word)
    print(json.dumps(rows) if arguments.as_json else settings_text(rows))
    return EXIT_FIXED


DOCTOR = Command(
    "show what is missing before MetaAgent can run here",
    _doctor,
    _add_doctor,
    ("app_id", "private_key_file", "sandbox.backend", "database_url", "data_dir"),
)
DB = Command("upgrade, back up or check the databases", _db, _add_db, ("database_url", "data_dir"))
IMAGE = Command(
    "pull or build the sandbox's image and print its name",
    _image,
    _add_image,
    (
        "sandbox.image",
        "sandbox.debian_packages",
        "sandbox.debian_suite",
        "sandbox.environments_bytes",
        "sandbox.environments_days",
    ),
)
SETTINGS = Command("list the settings, with defaults and units", _list, _add_list)
