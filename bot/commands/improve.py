"""metaagent improve: options, run and exit status. Standard output is one JSON object, always."""

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

from bot.commands.options import Command

EXIT_FAILURE = 1
ROLLBACK = "rollback"
TEXT_CAP = 20_000
"""Maximum length of the context, of its file and of the logs, in characters each."""
SELF = "self"
MAX_CYCLES = 50
MAX_MISSIONS = 10
_MISSIONS = 3
_PROVIDERS = {"openai": "openai-chat", "gpt": "openai-chat", "claude": "anthropic"}
"""Other names of kinds of models."""
_WITHOUT_MODEL = frozenset({"mock"})


def _add_options(parser: argparse.ArgumentParser) -> None:
    text = "a Python file, a folder, self (MetaAgent), or rollback"
    parser.add_argument("target", nargs="?", metavar="TARGET", help=text)
    text = "with rollback: the file to restore (default: the newest promotion)"
    parser.add_argument("file", nargs="?", metavar="FILE", help=text)
    text = "the project's test command; detected if omitted"
    parser.add_argument("--test", dest="command", metavar="COMMAND", help=text)
    parser.add_argument("--context", metavar="TEXT", help="advice for a model")
    parser.add_argument("--context-file", metavar="FILE", help="a file with more advice")
    parser.add_argument("--logs", metavar="FILE", help="a log file that a model should read")
    text = "kind of model: openai, anthropic, ... (the first half of --model)"
    parser.add_argument("--llm-provider", metavar="KIND", help=text)
    text = "name of the model (the second half of --model)"
    parser.add_argument("--llm-model", metavar="NAME", help=text)
    text = "repair a red folder by missions one after another, until its tests pass"
    parser.add_argument("--continuous", action="store_true", help=text)
    text = (
        "number of improvements, one after the other (default 1); with --continuous, the most "
        "missions (default 3)"
    )
    parser.add_argument("--cycles", type=int, metavar="N", help=text)
    text = "time limit for one self-test, in seconds (default 60)"
    parser.add_argument(
        "--self-test-timeout", type=float, default=60.0, metavar="SECONDS", help=text
    )
    text = "lowest score that is accepted, from 0 to 1 (default 0.7)"
    parser.add_argument("--critique-threshold", type=float, default=0.7, metavar="X", help=text)
    text = "evaluate improvements, and promote none"
    parser.add_argument("--evaluate-only", action="store_true", help=text)
    text = "accepted for compatibility: the output is always JSON"
    parser.add_argument("--output-json", action="store_true", help=text)
    text = "check that this installation works, and improve nothing"
    parser.add_argument("--self-test-mode", action="store_true", help=text)


def _run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    if arguments.self_test_mode:
        from bot.improve.self_test import run_self_test

        ok, message, data = run_self_test()
        return _print(ok=ok, message=message, data=data)
    context, notes = _read_context(arguments)
    options = {**vars(arguments), **_model_setting(arguments)}
    from bot.settings import load_from_options

    settings = load_from_options(options)
    from bot.terminal.improve import ImproveOrder, run_improve, run_rollback

    if arguments.target == ROLLBACK:
        result = run_rollback(arguments.file, settings)
    else:
        order = ImproveOrder(
            target=arguments.target,
            command=arguments.command,
            cycles=arguments.cycles or (_MISSIONS if arguments.continuous else 1),
            self_test_timeout_s=arguments.self_test_timeout,
            critique_threshold=arguments.critique_threshold,
            context=context,
            notes=notes,
            evaluate_only=arguments.evaluate_only,
        )
        if arguments.continuous:
            from bot.terminal.continuous import run_continuous

            result = run_continuous(order, settings)
        else:
            result = run_improve(order, settings)
    return _print(ok=result.ok, message=result.message, data=result.data)


def _check(arguments: argparse.Namespace) -> None:
    """Check the options before anything heavy is imported.

    Raises:
        UsageError: an option makes no sense.
    """
    from bot.errors import UsageError

    if arguments.target is None and not arguments.self_test_mode:
        raise UsageError("the target is missing", "name a file, a folder, self or rollback")
    if arguments.file is not None and arguments.target != ROLLBACK:
        raise UsageError("there are two targets", "name one; only rollback takes another word")
    if arguments.command is not None and not arguments.command.strip():
        raise UsageError("--test is empty", "give the project's test command")
    most = MAX_MISSIONS if arguments.continuous else MAX_CYCLES
    if arguments.cycles is not None and not 1 <= arguments.cycles <= most:
        raise UsageError(f"--cycles must be between 1 and {most}")
    if arguments.continuous and arguments.target in {SELF, ROLLBACK}:
        raise UsageError(f"--continuous repairs a folder, not {arguments.target}", "name a folder")
    seconds = arguments.self_test_timeout
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError("--self-test-timeout must be more than 0 seconds")
    if not 0 <= arguments.critique_threshold <= 1:
        raise UsageError("--critique-threshold must be between 0 and 1")


def _read_context(arguments: argparse.Namespace) -> tuple[str, tuple[str, ...]]:
    """Return the user's texts, and a note for each one that was cut."""
    texts = {"--context": arguments.context or ""}
    for option, file in (("--context-file", arguments.context_file), ("--logs", arguments.logs)):
        if file is not None:
            texts[option] = _read_text(option, file)
    notes = tuple(
        f"{option} was cut from {len(text)} to {TEXT_CAP} characters"
        for option, text in texts.items()
        if len(text) > TEXT_CAP
    )
    # The end of a log is what happened last.
    parts = [
        text[-TEXT_CAP:] if option == "--logs" else text[:TEXT_CAP]
        for option, text in texts.items()
        if text
    ]
    return "\n\n".join(parts), notes


def _read_text(option: str, file: str) -> str:
    from bot.errors import UsageError

    try:
        # A pipe or a device could be endless.
        if not Path(file).is_file():
            raise UsageError(f"{option}: {file} is not a regular file")
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        raise UsageError(f"{option}: {file} cannot be read") from error


def _model_setting(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the setting `model` of --llm-provider and --llm-model.

    Raises:
        UsageError: they name no model, or the setting is given too.
    """
    from bot.errors import UsageError

    kind, name = arguments.llm_provider, arguments.llm_model
    if kind is None and name is None:
        return {}
    if getattr(arguments, "setting:model", None) is not None:
        raise UsageError("--model and --llm-provider name a model twice", "use --model")
    if kind is None and ":" not in name:
        raise UsageError("--llm-model needs --llm-provider", "for example --llm-provider openai")
    if kind is None:
        return {"setting:model": name}
    kind = _PROVIDERS.get(kind, kind)
    if name is None and kind not in _WITHOUT_MODEL:
        raise UsageError("--llm-provider needs --llm-model", "name the model, or use --model")
    return {"setting:model": kind if name is None else f"{kind}:{name}"}


def _print(*, ok: bool, message: str, data: dict[str, Any]) -> int:
    status = "SUCCESS" if ok else "FAILURE"
    print(json.dumps({"status": status, "message": message, "data": data}))
    return 0 if ok else EXIT_FAILURE


def _report_error(error: BaseException) -> int:
    """Print an error as the one object, and return the exit status."""
    from sandbox.gate import clean

    message = str(getattr(error, "message", "")) or "something broke inside MetaAgent"
    advice, fault = str(getattr(error, "advice", "")), str(getattr(error, "fault", "us"))
    print(clean(f"metaagent: {type(error).__name__}: {error}", cap=4_000), file=sys.stderr)
    data = {"error": type(error).__name__, "fault": fault, "advice": clean(advice, cap=1_000)}
    return _print(ok=False, message=clean(message, cap=1_000), data=data)


IMPROVE = Command(
    "improve green code: one verified change of one file a cycle",
    _run,
    _add_options,
    ("model", "models.usd_per_mission", "data_dir", "sandbox.backend", "sandbox.test_wall_s"),
    report_error=_report_error,
)
