"""The command line: one function for each command. Start-up is kept light: heavy parts load when used."""

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

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
        return COMMANDS[arguments.command].run(arguments)
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


@dataclass(frozen=True)
class _Command:
    """One command: its line of help, its options besides the settings, and what it does."""

    help: str
    run: Callable[[argparse.Namespace], int]
    options: Callable[[argparse.ArgumentParser], None] = lambda _: None
    takes_settings: bool = True


def _parser(command: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="metaagent",
        description="Turns a red CI check into a reviewed fix.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"metaagent {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, one in COMMANDS.items():
        sub = commands.add_parser(name, help=one.help)
        one.options(sub)
        # Reading all settings takes longer than all else here.
        if name == command and one.takes_settings:
            _add_settings(sub)
    return parser


def _fix_options(parser: argparse.ArgumentParser) -> None:
    _project(parser)
    parser.add_argument("--test", metavar="COMMAND", help="the command that is red; detected when not given")
    parser.add_argument("--apply", action="store_true", help="write a verified fix into the folder")
    _json(parser)
    _seed(parser)
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="for the search of a fix")
    parser.add_argument("--rungs", default="0,1,2", help="rungs to climb: 0 tools, 1 search, 2 model (default 0,1,2)")
    parser.add_argument("--evidence", metavar="FILE", help="write the evidence bundle there, for metaagent replay")


def _repair_options(parser: argparse.ArgumentParser) -> None:
    _project(parser)
    parser.add_argument("--test", metavar="COMMAND", help="the pytest command that is red; detected when not given")
    seconds = "of search (default: the setting limits.search_s)"
    parser.add_argument("--seconds", type=float, metavar="SECONDS", help=seconds)
    parser.add_argument("--candidates", type=int, metavar="N", help="most candidates to try")
    parser.add_argument("--show", type=int, default=5, metavar="N", help="most candidates to show (default 5)")
    half = "keep half of the passing tests back to judge what is found"
    parser.add_argument("--half", action="store_true", help=half)
    _seed(parser)
    _json(parser)


def _replay_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", metavar="BUNDLE", help="the file that holds the evidence")
    _json(parser)
    parser.add_argument("--keep-red", action="store_true", help="show the output of the unpatched run too")


def _recipe_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", nargs="?", default=".", help="folder of the project (default .)")
    parser.add_argument("--workflow", metavar="FILE", help="the workflow: its name, its path, or any file")
    parser.add_argument("--job", metavar="NAME", help="the job as its check is named, or its id")
    parser.add_argument("--step", metavar="NAME", help="the failed step; the one that tests when not given")
    parser.add_argument("--matrix", metavar="NAME=VALUE", action="append", default=[], help="the cell; repeatable")
    _json(parser)


def _doctor_options(parser: argparse.ArgumentParser) -> None:
    live = "ask GitHub too: rights, events, whether webhooks arrive, whether CI runs on our commits"
    parser.add_argument("--live", action="store_true", help=live)
    _json(parser)


def _simulate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("payload", metavar="PAYLOAD", help="file with the body of a webhook; - is standard input")
    parser.add_argument("--event", metavar="NAME", help="the webhook's event; told from the payload when not given")
    parser.add_argument("--offline", action="store_true", help="do not ask GitHub")
    _json(parser)


def _models_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("check",), help="ask every configured model once")
    caching = "ask twice more with a long text, to see whether the server keeps it"
    parser.add_argument("--caching", action="store_true", help=caching)
    _json(parser)


def _prompts_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("show", "list"), help="render one prompt, or list them all")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the prompt to show")
    gap = "fill a gap with foreign text; repeatable; the others stay as they are"
    parser.add_argument("--gap", metavar="NAME=TEXT", action="append", default=[], help=gap)
    _json(parser)


def _image_options(parser: argparse.ArgumentParser) -> None:
    prune = "also remove environments over the limits of age and size"
    parser.add_argument("--prune", action="store_true", help=prune)


def _project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="folder of the project")
    parser.add_argument("--since", metavar="REV", help=_SINCE)


def _seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random (default 0)")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


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

    settings = load_from_options(vars(arguments))
    if settings.needs_setup:
        _setup(arguments)
        settings = load_from_options(vars(arguments))
    serve(settings)
    return EXIT_FIXED


def _web(arguments: argparse.Namespace) -> int:
    from bot.app import serve
    from bot.settings import load_from_options
    from bot.wiring.service import Role

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

    run_setup(load_from_options(vars(arguments)), lambda text: print(text, file=sys.stderr, flush=True))
    return EXIT_FIXED


def _action(_: argparse.Namespace) -> int:
    from bot.action_command import run_action
    from bot.settings import environment

    return run_action(environment())


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

    findings = examine(load_from_options(vars(arguments)), live=arguments.live)
    if arguments.json:
        print(json.dumps([finding.model_dump() for finding in findings]))
    else:
        print(render(findings))
    return EXIT_NOT_FIXED if any(finding.state == "missing" for finding in findings) else EXIT_FIXED


def _simulate(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.simulate_command import SimulateOrder, run_simulate

    order = SimulateOrder(path=arguments.payload, event=arguments.event, offline=arguments.offline)
    result = run_simulate(order, load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.json else result.text)
    return EXIT_FIXED


def _models(arguments: argparse.Namespace) -> int:
    from bot.models_command import ModelsOrder, run_models_check
    from bot.settings import load_from_options

    result = run_models_check(ModelsOrder(caching=arguments.caching), load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.json else result.text)
    return EXIT_FIXED if result.all_answer else EXIT_NOT_FIXED


def _prompts(arguments: argparse.Namespace) -> int:
    from bot.errors import UsageError
    from bot.prompts_command import PromptsOrder, run_prompts

    if (arguments.name is None) == (arguments.action == "show"):
        raise UsageError("prompts show takes the name of a prompt, prompts list takes none")
    result = run_prompts(PromptsOrder(name=arguments.name, gaps=tuple(arguments.gap)))
    print(json.dumps(result.json_object) if arguments.json else result.text)
    return EXIT_FIXED


def _image(arguments: argparse.Namespace) -> int:
    from bot.settings import load_from_options
    from bot.wiring.line import prepare_image

    toolchain, kept = prepare_image(load_from_options(vars(arguments)), prune=arguments.prune)
    print(toolchain)
    if arguments.prune:
        freed = f"{kept.removed} removed ({kept.removed_bytes / (1 << 20):.0f} MiB)"
        print(f"{freed}, {kept.count} environments kept ({kept.size / (1 << 20):.0f} MiB)")
    return EXIT_FIXED


COMMANDS: Mapping[str, _Command] = MappingProxyType(
    {
        "serve": _Command("receive GitHub's webhooks and run missions", _serve),
        "web": _Command("receive webhooks and leave the missions to workers (on PostgreSQL)", _web),
        "worker": _Command("run missions only, as one of several (on PostgreSQL)", _worker),
        "fix": _Command("repair a red working tree on this machine", _fix, _fix_options),
        "repair": _Command("search for fixes of a red working tree and show them, ranked", _repair, _repair_options),
        "replay": _Command("run a verdict again from its evidence bundle", _replay, _replay_options),
        "recipe": _Command("say how a failing job of a workflow would be rebuilt", _recipe, _recipe_options),
        "simulate": _Command("say what a webhook would set off, and write nothing", _simulate, _simulate_options),
        "action": _Command(
            "run as a step of a GitHub workflow: inputs come from its environment", _action, takes_settings=False
        ),
        "setup": _Command("make the GitHub App in your browser, and store its keys", _setup),
        "doctor": _Command("say what is missing before MetaAgent can run here", _doctor, _doctor_options),
        "models": _Command("ask every configured model whether it answers, and what it can", _models, _models_options),
        "prompts": _Command("show what models are asked", _prompts, _prompts_options, takes_settings=False),
        "image": _Command("pull or build the sandbox's image, and print its name", _image, _image_options),
    }
)
"""Every command, in the order of the help."""
