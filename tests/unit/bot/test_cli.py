"""The command line: what it offers, what it answers, with which exit status."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bot import __version__
from bot.cli import COMMANDS, build_parser, main
from bot.commands.options import COMMON, EXIT_ERROR, EXIT_NOT_FIXED
from bot.settings import leaves, load_from_options
from bot.tables import Leaf


def helped(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def parsed(*words: str) -> dict[str, Any]:
    return vars(build_parser(words).parse_args(words))


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = helped(capsys)
    listed = {line.split()[0] for line in text.splitlines() if line.startswith("    ")}
    assert set(COMMANDS) <= listed
    assert "Exit status: 0 done" in text


@pytest.mark.parametrize("command", [name for name, one in COMMANDS.items() if one.takes_settings])
def test_help_of_a_command_shows_few_settings_and_no_secret(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = helped(capsys, command).split()
    shown = [leaf for leaf in leaves() if leaf.option in words]
    assert {leaf.key for leaf in shown} == set(COMMANDS[command].settings)
    assert len(shown) <= 5
    assert [leaf.option for leaf in shown if leaf.is_secret] == [], "others read command lines"
    assert {"--set", "--config"} <= set(words)


def test_settings_with_a_help_text_exist_and_are_shown_somewhere() -> None:
    shown = {key for command in COMMANDS.values() for key in command.settings}
    assert set(COMMON) == shown <= {leaf.key for leaf in leaves() if not leaf.is_secret}


@pytest.mark.parametrize("words", [["--help"], ["fix", "--help"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    heavy = "[m for m in ('pydantic', 'bot.settings', 'bot.domain', 'sandbox') if m in sys.modules]"
    code = f"import sys; from bot.cli import build_parser; build_parser({words}); print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", ["fix", "repair"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere is not a folder"),
        (["empty"], "empty is empty"),
        (["empty", "--test", "pytest 'x"], "--test cannot be read: no closing quotation"),
        (["empty", "--test", " "], "--test is empty"),
        (["empty", "--time-limit", "0"], "--time-limit must be more than 0 seconds"),
    ],
)
def test_wrong_use_is_reported_before_anything_heavy_is_imported(
    command: str, words: list[str], message: str, tmp_path: Path
) -> None:
    heavy = "[m for m in ('pydantic', 'bot.settings', 'bot.domain', 'asyncio') if m in sys.modules]"
    (tmp_path / "empty").mkdir()
    enter = f"import os, sys; from bot.cli import main; os.chdir({str(tmp_path)!r})"
    code = f"{enter}; print(main({[command, *words]}), {heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"{EXIT_ERROR} []\n"
    assert f"metaagent: {message}\n" in done.stderr


@pytest.mark.parametrize("option", ["--limits-time-limit", "--limits-search-s"])
def test_settings_that_the_help_leaves_out_are_options_too(option: str) -> None:
    assert load_from_options(parsed("fix", ".", option, "5")).limits.time_limit == 5.0
    assert load_from_options(parsed("fix", ".", f"{option}=6")).limits.time_limit == 6.0


@pytest.mark.parametrize("words", [["--set", "sandbox.cpus=4"], ["--sandbox-cpus", "4"]])
def test_every_form_of_a_setting_is_understood(words: list[str]) -> None:
    assert load_from_options(parsed("fix", ".", *words)).sandbox.cpus == 4


def test_a_setting_without_a_value_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["fix", ".", "--set", "sandbox.cpus"])
    assert ended.value.code == EXIT_ERROR
    assert "'sandbox.cpus' is not KEY=VALUE" in capsys.readouterr().err


def test_an_unknown_key_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    assert main(["fix", str(tmp_path), "--set", "sandbox.legs=4"]) == EXIT_ERROR
    assert "sandbox.legs" in capsys.readouterr().err


def test_settings_are_listed_with_default_unit_and_meaning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["settings", "memory_BYTES", "--set", "sandbox.memory_bytes=4000000000"]) == 0
    assert capsys.readouterr().out == (
        "sandbox.memory_bytes = 2147483648 [bytes]  (here: 4000000000)\n"
        "    Memory of one sandbox, its temporary files included.\n"
    )
    assert main(["settings"]) == 0
    text = capsys.readouterr().out
    assert [leaf.key for leaf in leaves() if f"\n{leaf.key}" not in f"\n{text}"] == []
    assert "sandbox.backend = docker [docker or local]\n" in text


def test_secrets_are_masked_in_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "model_key", "--model-key", "hunter2", "--json"]) == 0
    out = capsys.readouterr().out
    assert "hunter2" not in out
    assert json.loads(out)[0] | {"description": ""} == {
        "name": "model_key",
        "variable": "METAAGENT_MODEL_KEY",
        "default": "",
        "value": "********",
        "unit": "",
        "secret": True,
        "description": "",
    }


def test_a_word_that_no_setting_has_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "xyzzy"]) == EXIT_ERROR
    assert "no setting has 'xyzzy'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["metaagent", "rep"], {"repair", "replay", "report"}),
        (["metaagent", "fix", "--ap"], {"--apply"}),
        (["metaagent", "fix", ".", "--sandbox-b"], {"--sandbox-backend"}),
        (["metaagent", "db", "b"], {"backup"}),
        (["metaagent", "fix", ".", "--set", "sandbox.memory"], {"sandbox.memory_bytes="}),
        (["metaagent", "fix", ".", "--set", "model_ke"], set()),
    ],
)
def test_bash_completes_commands_options_and_settings(
    capsys: pytest.CaptureFixture[str], typed: list[str], expected: set[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out.replace("compopt -o nospace", ":")  # needs a real completion
    line = f"COMP_WORDS=({shlex.join(typed)}); COMP_CWORD={len(typed) - 1}; _metaagent"
    done = subprocess.run(
        ["bash", "-c", f'{script}\n{line}; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_every_command(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in script] == []
    assert "sandbox.memory_bytes=" in script
    assert "private_key=" not in script


def test_settings_that_hold_a_secret_are_known() -> None:
    secret = {leaf.key for leaf in leaves() if leaf.is_secret}
    assert secret >= {"private_key", "webhook_secret", "model_key", "openai_api_key", "storage.key"}
    assert not secret & {"private_key_file", "app_id", "port"}


@pytest.mark.parametrize("command", ["fix", "repair"])
@pytest.mark.parametrize("test", ["--test", "--test-command", "--command"])
@pytest.mark.parametrize("limit", ["--time-limit", "--seconds"])
def test_one_thing_has_one_name_and_its_former_names_are_reported(
    command: str, test: str, limit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = parsed(command, ".", test, "make", limit, "7")
    assert (arguments["command"], arguments["time_limit_s"]) == ("make", 7.0)
    former = [
        f"metaagent: {given} is deprecated: use {name}"
        for given, name in ((test, "--test"), (limit, "--time-limit"))
        if given != name
    ]
    assert capsys.readouterr().err.splitlines() == former


@pytest.mark.parametrize("command", ["fix", "repair"])
def test_former_names_are_no_longer_offered(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    main(["completion", "bash"])
    shown = capsys.readouterr().out
    assert "--time-limit" in shown
    assert not {"--test-command", "--command", "--seconds"} & set(re.findall(r"--[\w-]+", shown))


def test_no_two_settings_share_an_option_or_a_variable() -> None:
    found = list(leaves())
    assert (
        len({leaf.option for leaf in found}) == len({leaf.variable for leaf in found}) == len(found)
    )


@pytest.mark.parametrize("leaf", tuple(leaves()), ids=lambda leaf: leaf.key)
def test_every_option_reaches_its_setting(leaf: Leaf) -> None:
    arguments = parsed("serve", leaf.option, "17")
    assert arguments[f"setting:{leaf.key}"] == "17"


def test_options_become_settings(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("port = 1\nworkers = 7\n")
    memory = ["--sandbox-memory-bytes", "4000000000"]
    words = ["serve", "--config", str(tmp_path / "own.toml"), "--port", "9000", *memory]
    settings = load_from_options(parsed(*words))
    assert (settings.port, settings.workers, settings.sandbox.memory_bytes) == (
        9000,
        7,
        4_000_000_000,
    )


def test_without_a_command_help_is_printed_and_it_is_wrong_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == EXIT_ERROR
    assert "COMMAND" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [["dance"], ["fix"], ["fix", ".", "--seed", "x"], ["serve", "--no-such-option", "1"]]
)
def test_wrong_words_are_status_2(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == EXIT_ERROR
    assert "usage: metaagent" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"metaagent {__version__}\n"


def test_an_error_is_a_sentence_with_its_advice_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["fix", "/no/such/folder"]) == EXIT_ERROR
    assert capsys.readouterr() == (
        "",
        "metaagent: /no/such/folder is not a folder\n  give the folder of the project\n",
    )


def test_an_error_is_one_object_when_json_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "/no/such/folder", "--json"]) == EXIT_ERROR
    out, err = capsys.readouterr()
    assert err == ""
    assert json.loads(out) == {
        "outcome": "ERROR",
        "fault": "user",
        "message": "/no/such/folder is not a folder",
        "advice": "give the folder of the project",
    }


def test_what_breaks_inside_is_an_error_of_ours_and_not_another_outcome(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # A NUL byte in a path is refused by the system below all our checks.
    assert (
        main(["doctor", "--json", "--data-dir", f"{tmp_path}/a\0b", "--sandbox-backend", "local"])
        == EXIT_ERROR
    )
    said = capsys.readouterr()
    assert json.loads(said.out)["fault"] == "us"
    assert "our fault" in said.out
    assert "Traceback" in said.err


def test_a_wrong_setting_names_its_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "a.py").touch()
    assert main(["fix", str(tmp_path), "--sandbox-cpus", "many"]) == EXIT_ERROR
    assert "sandbox.cpus (--sandbox-cpus)" in capsys.readouterr().err


def test_serve_without_a_secret_says_which_setting_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, loggers_as_they_were: None
) -> None:
    assert main(["serve", "--webhook-secret", "", "--data-dir", str(tmp_path)]) == EXIT_ERROR
    assert "METAAGENT_WEBHOOK_SECRET" in capsys.readouterr().err


def test_doctor_is_status_1_while_something_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = [
        "doctor",
        "--sandbox-backend",
        "local",
        "--sandbox-local-uid",
        "65532",
        "--data-dir",
        str(tmp_path),
    ]
    assert main([*words, "--webhook-secret", ""]) == EXIT_NOT_FIXED
    assert "MISSING  webhook secret" in capsys.readouterr().out
    assert main([*words, "--webhook-secret", "", "--json"]) == EXIT_NOT_FIXED
    assert {"subject", "state", "message", "advice"} == set(json.loads(capsys.readouterr().out)[0])
