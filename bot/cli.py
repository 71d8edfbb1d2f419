"""The command line: one function for each command. Start-up is kept light: heavy parts load when used."""

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from bot import __version__
from bot import cli_options as options

EXIT_FIXED = 0
EXIT_NOT_FIXED = 1
EXIT_ERROR = 2

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
            options.settings(sub)
    return parser


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


def _aside(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


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

    run_setup(load_from_options(vars(arguments)), _aside)
    return EXIT_FIXED


def _action(_: argparse.Namespace) -> int:
    from bot.action_command import run_action
    from bot.settings import environment

    return run_action(environment())


def _fix(arguments: argparse.Namespace) -> int:
    from bot.misuse import check_folder
    from bot.settings import load_from_options

    settings = load_from_options(vars(arguments))
    check_folder(arguments.path, settings.sandbox, command=arguments.test, since=arguments.since)
    from bot.fix_command import FixOrder, run_fix

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
        choose=arguments.choose,
    )
    result = run_fix(order, settings)
    if result.misuse is not None:
        raise result.misuse
    print(json.dumps(result.json_object) if arguments.json else result.text)
    return {"FIXED": EXIT_FIXED, "ERROR": EXIT_ERROR}.get(result.outcome, EXIT_NOT_FIXED)


def _repair(arguments: argparse.Namespace) -> int:
    from bot.misuse import check_folder
    from bot.settings import load_from_options

    settings = load_from_options(vars(arguments))
    check_folder(arguments.path, settings.sandbox, command=arguments.test, since=arguments.since)
    from bot.repair_command import RepairOrder, run_repair

    order = RepairOrder(
        path=arguments.path,
        command=arguments.test,
        since=arguments.since,
        seconds=arguments.time_limit,
        candidates=arguments.candidates,
        show=arguments.show,
        seed=arguments.seed,
        half=arguments.half,
        as_json=arguments.json,
    )
    result = run_repair(order, settings)
    if result.misuse is not None:
        raise result.misuse
    print(json.dumps(result.json_object) if arguments.json else result.text, end="\n" if arguments.json else "")
    return EXIT_FIXED if result.found else EXIT_NOT_FIXED


def _replay(arguments: argparse.Namespace) -> int:
    from bot.replay_command import ReplayOrder, run_replay
    from bot.settings import load_from_options

    order = ReplayOrder(path=arguments.bundle, keep_red=arguments.keep_red)
    result = run_replay(order, load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.json else result.text)
    return {"CONFIRMED": EXIT_FIXED, "NOT CONFIRMED": EXIT_NOT_FIXED}.get(result.verdict, EXIT_ERROR)


def _log(arguments: argparse.Namespace) -> int:
    from bot.log_command import run_log
    from bot.settings import load_from_options

    print(run_log(arguments.mission, load_from_options(vars(arguments))))
    return EXIT_FIXED


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
    from bot.doctor import examine
    from bot.settings import load_from_options
    from bot.setup.finding import render

    findings = examine(load_from_options(vars(arguments)), live=arguments.live, face=arguments.face)
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


def _db(arguments: argparse.Namespace) -> int:
    from bot.db_command import run_db
    from bot.settings import load_from_options

    result = run_db(arguments.action, arguments.target, load_from_options(vars(arguments)))
    print(json.dumps(result.json_object) if arguments.json else result.text)
    return EXIT_FIXED if result.sound else EXIT_NOT_FIXED


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


def _pause(arguments: argparse.Namespace) -> int:
    from bot.pause_command import PauseOrder, run_pause
    from bot.settings import load_from_options

    order = PauseOrder(place=arguments.place, now=arguments.now, drain=arguments.drain, why=arguments.why)
    print(run_pause(order, load_from_options(vars(arguments)), _aside))
    return EXIT_FIXED


def _resume(arguments: argparse.Namespace) -> int:
    from bot.pause_command import run_resume
    from bot.settings import load_from_options

    print(run_resume(arguments.place, load_from_options(vars(arguments))))
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
        "pause": _Command("begin no mission any more, in all processes: the kill switch", _pause, options.pause),
        "resume": _Command("let missions begin again", _resume, options.place),
        "fix": _Command("repair a red working tree on this machine", _fix, options.fix),
        "repair": _Command("search for fixes of a red working tree and show them, ranked", _repair, options.repair),
        "replay": _Command("run a verdict again from its evidence bundle", _replay, options.replay),
        "log": _Command("show what was logged while a mission ran, on any machine", _log, options.log),
        "recipe": _Command("say how a failing job of a workflow would be rebuilt", _recipe, options.recipe),
        "simulate": _Command("say what a webhook would set off, and write nothing", _simulate, options.simulate),
        "action": _Command(
            "run as a step of a GitHub workflow: inputs come from its environment", _action, takes_settings=False
        ),
        "setup": _Command("make the GitHub App in your browser, and store its keys", _setup),
        "doctor": _Command("say what is missing before MetaAgent can run here", _doctor, options.doctor),
        "db": _Command("upgrade, back up or check the databases", _db, options.db),
        "models": _Command("ask every configured model whether it answers, and what it can", _models, options.models),
        "prompts": _Command("show what models are asked", _prompts, options.prompts, takes_settings=False),
        "image": _Command("pull or build the sandbox's image, and print its name", _image, options.image),
    }
)
"""Every command, in the order of the help."""
