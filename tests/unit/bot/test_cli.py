"""The command line: what it offers, what it answers, with which exit status."""

import json
from pathlib import Path

import pytest

from bot import __version__
from bot.cli import COMMANDS, EXIT_ERROR, EXIT_NOT_FIXED, _parser, main
from bot.settings import Leaf, leaves, load_from_options


def helped(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    text = helped(capsys)
    for command in COMMANDS:
        assert f"\n    {command} " in text
    assert "Exit status: 0 done" in text


@pytest.mark.parametrize("command", [name for name, one in COMMANDS.items() if one.takes_settings])
def test_help_of_a_command_lists_every_setting(capsys: pytest.CaptureFixture[str], command: str) -> None:
    text = helped(capsys, command)
    missing = [leaf.option for leaf in leaves() if not leaf.is_secret and f"  {leaf.option} VALUE" not in text]
    assert not missing
    offered = [leaf.option for leaf in leaves() if leaf.is_secret and leaf.option in text.split()]
    assert offered == [], "other users of the machine read command lines"


def test_settings_that_hold_a_secret_are_known() -> None:
    secret = {leaf.key for leaf in leaves() if leaf.is_secret}
    assert secret >= {"private_key", "webhook_secret", "model_key", "openai_api_key", "storage.key"}
    assert not secret & {"private_key_file", "app_id", "port"}


@pytest.mark.parametrize("command", ["fix", "repair"])
@pytest.mark.parametrize("test", ["--test", "--test-command", "--command"])
@pytest.mark.parametrize("limit", ["--time-limit", "--seconds"])
def test_one_thing_has_one_name_and_its_other_names_are_understood(command: str, test: str, limit: str) -> None:
    arguments = _parser(command).parse_args([command, ".", test, "make", limit, "7"])
    assert (arguments.test, arguments.time_limit) == ("make", 7.0)


def test_no_two_settings_share_an_option_or_a_variable() -> None:
    found = list(leaves())
    assert len({leaf.option for leaf in found}) == len({leaf.variable for leaf in found}) == len(found)


@pytest.mark.parametrize("leaf", tuple(leaves()), ids=lambda leaf: leaf.key)
def test_every_option_reaches_its_setting(leaf: Leaf) -> None:
    arguments = vars(_parser("serve").parse_args(["serve", leaf.option, "17"]))
    assert arguments[f"setting:{leaf.key}"] == "17"


def test_options_become_settings(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("port = 1\nworkers = 7\n")
    memory = ["--sandbox-memory-bytes", "4000000000"]
    words = ["serve", "--config", str(tmp_path / "own.toml"), "--port", "9000", *memory]
    settings = load_from_options(vars(_parser("serve").parse_args(words)))
    assert (settings.port, settings.workers, settings.sandbox.memory_bytes) == (9000, 7, 4_000_000_000)


def test_without_a_command_help_is_printed_and_it_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == EXIT_ERROR
    assert "COMMAND" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["dance"], ["fix"], ["fix", ".", "--seed", "x"], ["serve", "--no-such-option", "1"]])
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


def test_an_error_is_a_sentence_with_its_advice_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "/no/such/folder"]) == EXIT_ERROR
    assert capsys.readouterr() == ("", "metaagent: /no/such/folder is not a folder\n  give the folder of the project\n")


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
    assert main(["doctor", "--json", "--data-dir", f"{tmp_path}/a\0b", "--sandbox-backend", "local"]) == EXIT_ERROR
    said = capsys.readouterr()
    assert json.loads(said.out)["fault"] == "us"
    assert "our fault" in said.out
    assert "Traceback" in said.err


def test_a_wrong_setting_names_its_option(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["fix", str(tmp_path), "--sandbox-cpus", "many"]) == EXIT_ERROR
    assert "sandbox.cpus (--sandbox-cpus)" in capsys.readouterr().err


def test_serve_without_a_secret_says_which_setting_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, loggers_as_they_were: None
) -> None:
    assert main(["serve", "--webhook-secret", "", "--data-dir", str(tmp_path)]) == EXIT_ERROR
    assert "METAAGENT_WEBHOOK_SECRET" in capsys.readouterr().err


def test_doctor_is_status_1_while_something_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["doctor", "--sandbox-backend", "local", "--sandbox-local-uid", "65532", "--data-dir", str(tmp_path)]
    assert main([*words, "--webhook-secret", ""]) == EXIT_NOT_FIXED
    assert "MISSING  webhook secret" in capsys.readouterr().out
    assert main([*words, "--webhook-secret", "", "--json"]) == EXIT_NOT_FIXED
    assert {"subject", "state", "message", "advice"} == set(json.loads(capsys.readouterr().out)[0])
