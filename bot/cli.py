"""The command line: one function for each command. Start-up is kept light: heavy parts load when used."""

import argparse
import json
import sys
import traceback
from collections.abc import Sequence

from bot import __version__

EXIT_FIXED = 0
EXIT_NOT_FIXED = 1
EXIT_ERROR = 2

_SINCE = "commit it was green at, in a git checkout (default: HEAD if sources differ from it, else its parent)"
_EPILOG = """\
Settings are options (--sandbox-memory-bytes), variables (METAAGENT_SANDBOX__MEMORY_BYTES) or keys of
metaagent.toml (sandbox.memory_bytes); `metaagent COMMAND --help` lists them all.

Exit status: 0 done (for fix: FIXED; for repair: a fix is shown), 1 another outcome, 2 wrong use or an error of ours.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = next((w for w in words if not w.startswith("-")), None)
    parser = _parser(command)
    arguments = parser.parse_args(words)
    if arguments.command is None:
        parser.print_help()
        return EXIT_ERROR
    from bot.errors import MetaAgentError
    from sandbox.errors import SandboxError

    try:
        return _COMMANDS[arguments.command](arguments)
    except (MetaAgentError, SandboxError) as error:
        _complain(error, as_json=bool(getattr(arguments, "json", False)))
        return EXIT_ERROR
    except Exception as error:  # whatever breaks has the status of an error, not of another outcome
        traceback.print_exc(file=sys.stderr)
        _complain(_our_fault(error), as_json=bool(getattr(arguments, "json", False)))
        return EXIT_ERROR
    except KeyboardInterrupt:
        print("metaagent: stopped", file=sys.stderr)
        return 130


def _parser(command: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="metaagent",
        description="Turns a red CI check into a reviewed fix.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"metaagent {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    serve = commands.add_parser("serve", help="receive GitHub's webhooks and run missions")
    fix = commands.add_parser("fix", help="repair a red working tree on this machine")
    repair = commands.add_parser("repair", help="search for fixes of a red working tree and show them, ranked")
    replay = commands.add_parser("replay", help="run a verdict again from its evidence bundle")
    recipe = commands.add_parser("recipe", help="say how a failing job of a workflow would be rebuilt")
    doctor = commands.add_parser("doctor", help="say what is missing before MetaAgent can run here")
    image = commands.add_parser("image", help="pull or build the sandbox's image, and print its name")
    for each in (fix, repair):
        each.add_argument("path", metavar="PATH", help="folder of the project")
        each.add_argument("--since", metavar="REV", help=_SINCE)
    fix.add_argument("--test", metavar="COMMAND", help="the command that is red; detected when not given")
    fix.add_argument("--apply", action="store_true", help="write a verified fix into the folder")
    fix.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    fix.add_argument("--seed", type=int, default=0, help="seed of everything random (default 0)")
    fix.add_argument("--time-limit", type=float, metavar="SECONDS", help="for the search of a fix")
    fix.add_argument("--rungs", default="0,1", help="rungs to climb: 0 tools, 1 search, 2 model (default 0,1)")
    fix.add_argument("--evidence", metavar="FILE", help="write the evidence bundle there, for metaagent replay")
    repair.add_argument("--test", metavar="COMMAND", help="the pytest command that is red; detected when not given")
    repair.add_argument(
        "--seconds", type=float, metavar="SECONDS", help="of search (default: the setting limits.search_s)"
    )
    repair.add_argument("--candidates", type=int, metavar="N", help="most candidates to try")
    repair.add_argument("--show", type=int, default=5, metavar="N", help="most candidates to show (default 5)")
    repair.add_argument(
        "--half", action="store_true", help="keep half of the passing tests back to judge what is found"
    )
    repair.add_argument("--seed", type=int, default=0, help="seed of everything random (default 0)")
    repair.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    replay.add_argument("bundle", metavar="BUNDLE", help="the file that holds the evidence")
    replay.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    replay.add_argument("--keep-red", action="store_true", help="show the output of the unpatched run too")
    recipe.add_argument("path", metavar="PATH", nargs="?", default=".", help="folder of the project (default .)")
    recipe.add_argument("--workflow", metavar="FILE", help="the workflow: its name, its path, or any file")
    recipe.add_argument("--job", metavar="NAME", help="the job as its check is named, or its id")
    recipe.add_argument("--step", metavar="NAME", help="the failed step; the one that tests when not given")
    recipe.add_argument("--matrix", metavar="NAME=VALUE", action="append", default=[], help="the cell; repeatable")
    recipe.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    image.add_argument("--prune", action="store_true", help="also remove environments over the limits of age and size")
    doctor.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    for name, sub in (
        ("serve", serve),
        ("fix", fix),
        ("repair", repair),
        ("replay", replay),
        ("recipe", recipe),
        ("doctor", doctor),
        ("image", image),
    ):
        if name == command:
            _add_settings(sub)
    return parser


def _add_settings(parser: argparse.ArgumentParser) -> None:
    from bot.settings import leaves

    group = parser.add_argument_group("settings")
    group.add_argument("--config", metavar="FILE", help="settings file (default metaagent.toml when it is there)")
    for leaf in leaves():
        text = " ".join(filter(None, (leaf.description, f"[{leaf.default}]" if leaf.default else "")))
        group.add_argument(leaf.option, dest=f"setting:{leaf.key}", metavar="VALUE", help=text.replace("%", "%%"))


def _our_fault(error: Exception) -> Exception:
    from bot.errors import MetaAgentError

    message = f"something broke inside MetaAgent ({type(error).__name__}); this is our fault, not yours"
    return MetaAgentError(message, "report it with the lines above")


def _complain(error: Exception, *, as_json: bool) -> None:
    message, advice = getattr(error, "message", str(error)), getattr(error, "advice", "")
    if as_json:
        fault = str(getattr(error, "fault", "us"))
        print(json.dumps({"outcome": "ERROR", "fault": fault, "message": message, "advice": advice}))
    else:
        print(f"metaagent: {message}" + (f"\n  {advice}" if advice else ""), file=sys.stderr)


def _serve(arguments: argparse.Namespace) -> int:
    from bot.app import serve
    from bot.settings import load_from_options

    serve(load_from_options(vars(arguments)))
    return EXIT_FIXED


def _fix(arguments: argparse.Namespace) -> int:
    from bot.fix_command import FixOrder, run_fix
    from bot.settings import load_from_options

    order = FixOrder(
        path=arguments.path,
        command=arguments.test,
        since=arguments.since,
        apply=arguments.apply,
        as_json=arguments.json,
        seed=arguments.seed,
        time_limit_s=arguments.time_limit,
        rungs=arguments.rungs,
        evidence=arguments.evidence,
    )
    result = run_fix(order, load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.json else result.text)
    return {"FIXED": EXIT_FIXED, "ERROR": EXIT_ERROR}.get(result.outcome, EXIT_NOT_FIXED)


def _repair(arguments: argparse.Namespace) -> int:
    from bot.repair_command import RepairOrder, run_repair
    from bot.settings import load_from_options

    order = RepairOrder(
        path=arguments.path,
        command=arguments.test,
        since=arguments.since,
        seconds=arguments.seconds,
        candidates=arguments.candidates,
        show=arguments.show,
        seed=arguments.seed,
        half=arguments.half,
        as_json=arguments.json,
    )
    result = run_repair(order, load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.json else result.text, end="\n" if arguments.json else "")
    return EXIT_FIXED if result.found else EXIT_NOT_FIXED


def _replay(arguments: argparse.Namespace) -> int:
    from bot.replay_command import ReplayOrder, run_replay
    from bot.settings import load_from_options

    order = ReplayOrder(path=arguments.bundle, keep_red=arguments.keep_red)
    result = run_replay(order, load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.json else result.text)
    return {"CONFIRMED": EXIT_FIXED, "NOT CONFIRMED": EXIT_NOT_FIXED}.get(result.verdict, EXIT_ERROR)


def _recipe(arguments: argparse.Namespace) -> int:
    from bot.recipe_command import RecipeOrder, run_recipe
    from bot.settings import load_from_options

    order = RecipeOrder(
        path=arguments.path,
        workflow=arguments.workflow,
        job=arguments.job,
        step=arguments.step,
        matrix=tuple(arguments.matrix),
    )
    result = run_recipe(order, load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.json else result.text, end="\n" if arguments.json else "")
    return EXIT_FIXED if result.feasible else EXIT_NOT_FIXED


def _doctor(arguments: argparse.Namespace) -> int:
    from bot.doctor import examine, render
    from bot.settings import load_from_options

    findings = examine(load_from_options(vars(arguments)))
    if arguments.json:
        print(json.dumps([finding.model_dump() for finding in findings]))
    else:
        print(render(findings))
    return EXIT_NOT_FIXED if any(finding.state == "missing" for finding in findings) else EXIT_FIXED


def _image(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.wiring.line import prepare_image

    toolchain, kept = prepare_image(load_from_options(vars(arguments)), prune=arguments.prune)
    print(toolchain)
    if arguments.prune:
        freed = f"{kept.removed} removed ({kept.removed_bytes / (1 << 20):.0f} MiB)"
        print(f"{freed}, {kept.count} environments kept ({kept.size / (1 << 20):.0f} MiB)")
    return EXIT_FIXED


_COMMANDS = {
    "serve": _serve,
    "fix": _fix,
    "repair": _repair,
    "replay": _replay,
    "recipe": _recipe,
    "doctor": _doctor,
    "image": _image,
}
