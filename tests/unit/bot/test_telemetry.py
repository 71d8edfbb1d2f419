"""Log lines are JSON, carry what they were given, and never show a secret in any form."""

import base64
import io
import json
import logging
import urllib.parse
from typing import Any

import pytest
from pydantic import SecretStr

from bot.telemetry import JsonFormatter, current_mission, set_up_logging

SECRET = "s3cr3t-hunter-two"


pytestmark = pytest.mark.usefixtures("loggers_as_they_were")


def logged(message: str, *args: object, **more: Any) -> dict[str, Any]:
    """One line, read back."""
    stream = io.StringIO()
    set_up_logging(level="debug", secrets=(SecretStr(SECRET),), stream=stream)
    logging.getLogger("metaagent.test").warning(message, *args, **more)
    (line,) = stream.getvalue().splitlines()
    assert SECRET not in line
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_line_says_when_who_and_what() -> None:
    line = logged("read %d files", 3)
    assert (line["level"], line["logger"], line["message"]) == (
        "warning",
        "metaagent.test",
        "read 3 files",
    )
    assert line["time"]


def test_extra_fields_keep_their_names_and_kinds() -> None:
    line = logged(
        "x",
        extra={
            "mission": "m-1",
            "status": 202,
            "seconds": 0.5,
            "warm": True,
            "empty": None,
            "path": {},
        },
    )
    assert (line["mission"], line["status"], line["seconds"], line["warm"]) == (
        "m-1",
        202,
        0.5,
        True,
    )
    assert "empty" not in line
    assert line["path"] == "{}"


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        SECRET[::-1],
        base64.b64encode(SECRET.encode()).decode(),
        SECRET.encode().hex(),
        urllib.parse.quote(SECRET, safe=""),
        " ".join(SECRET),
        f"https://user:{SECRET}@host/path",
    ],
)
def test_a_secret_is_masked_in_every_form_and_every_place(form: str) -> None:
    text = json.dumps(logged("got %s", form, extra={"detail": form}))
    assert form not in text
    assert "***" in text


def test_what_has_the_shape_of_a_token_is_masked_without_being_known() -> None:
    token = "ghp_" + "a1B2" * 9
    assert token not in json.dumps(logged("got %s", token))


def test_a_secret_in_an_exception_is_masked() -> None:
    line = logged("broke", exc_info=ValueError(f"cannot sign with {SECRET}"))
    assert line["exception"] == "ValueError: cannot sign with ***"


def test_line_breaks_and_control_characters_cannot_forge_a_line() -> None:
    assert logged("one\ntwo\x1b[31m", extra={"detail": '"}\n{"level": "info"'})[
        "message"
    ].startswith("one")


def test_a_long_text_is_cut() -> None:
    assert len(logged("word " * 100_000)["message"]) <= 8_192


@pytest.mark.parametrize("name", ["bot.intake.webhook", "metaagent.mission", "sandbox.workspace"])
def test_our_own_loggers_speak_from_the_level_that_was_set(name: str) -> None:
    stream = io.StringIO()
    set_up_logging(level="info", stream=stream)
    logging.getLogger(name).info("heard")
    logging.getLogger(name).debug("not heard")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["heard"]


def test_libraries_speak_from_warnings_on() -> None:
    stream = io.StringIO()
    set_up_logging(level="debug", stream=stream)
    logging.getLogger("httpx").info("GET /")
    logging.getLogger("httpx").warning("slow")
    assert [json.loads(line)["message"] for line in stream.getvalue().splitlines()] == ["slow"]


def test_setting_up_twice_does_not_double_the_lines() -> None:
    first, second = io.StringIO(), io.StringIO()
    set_up_logging(stream=first)
    handler = set_up_logging(stream=second)
    logging.getLogger("bot").warning("once")
    assert (first.getvalue(), second.getvalue().count("\n")) == ("", 1)
    assert isinstance(handler.formatter, JsonFormatter)


def test_every_line_of_a_mission_carries_its_id_and_no_other_line_does() -> None:
    token = current_mission.set("mission:7:auto")
    try:
        inside, other = logged("read"), logged("read", extra={"mission": "m-2"})
    finally:
        current_mission.reset(token)
    assert (inside["mission"], other["mission"]) == ("mission:7:auto", "m-2")
    assert "mission" not in logged("read")
