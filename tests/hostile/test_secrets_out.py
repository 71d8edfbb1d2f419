"""No secret leaves through any sink, in any form; what is honest stays readable; no text takes long."""

import re
import time

import pytest

from bot.domain.model import Passage
from bot.llm.spans import Sanitizer, render_passages
from sandbox.gate import MASK, clean, fenced, for_markdown, for_workflow_log, prepare_needles
from tests.hostile.secret_forms import HONEST, SECRET, UNKNOWN, every_form

NEEDLES = prepare_needles([SECRET])
SINKS = {
    "log": lambda text: text,
    "prompt": lambda text: render_passages(
        (Passage(label=text, text=text, origin=text),), "0" * 20, Sanitizer(NEEDLES)
    ),
    "markdown": for_markdown,
    "fence": fenced,
    "workflow": for_workflow_log,
}
MEGABYTES_10 = 10_000_000
PIECES = [
    "x", "y\n", "\r", "\n", "a\b", "\x1b[", "\x1b]", "`", "eyJaaaaaaaa.", "a.", "-----BEGIN ", "a:a@", "Authorization: bearer ",
    "SG.aaaaaaaaaaaaaaaa.", "\\", "\uff47", "password=", "token:", "&#", "%41", "0x41 ", "E   ", "ghx9QCAN", "::",
]  # fmt: skip


@pytest.mark.parametrize("sink", SINKS)
def test_no_form_of_a_known_secret_passes_any_sink(sink: str) -> None:
    leaked = []
    for name, form in every_form().items():
        said = SINKS[sink](clean(f"text {form} end", secrets=NEEDLES))
        squeezed = re.sub(r"[^A-Za-z0-9]", "", said).casefold()
        readable = any(SECRET[at : at + 12].casefold() in squeezed for at in range(5, 15))
        if MASK not in said.replace("\\", "") or readable:
            leaked.append(name)
    assert leaked == []
    assert len(every_form()) >= 80


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_credential_nobody_told_us_of_is_masked(name: str) -> None:
    assert MASK in clean(f"x {UNKNOWN[name]} y")


@pytest.mark.parametrize("text", HONEST)
def test_what_only_speaks_of_credentials_stays(text: str) -> None:
    assert clean(text, secrets=NEEDLES) == text


def test_a_secret_does_not_come_back_by_cleaning_twice_or_by_a_cut() -> None:
    for offset in range(0, 60, 7):
        text = "w " * (1000 + offset) + SECRET + " w" * 3000
        cleaned = clean(clean(text, cap=2000, secrets=NEEDLES), cap=400, secrets=NEEDLES)
        assert SECRET[:10] not in cleaned
        assert SECRET[-10:] not in cleaned


@pytest.mark.slow
def test_ten_megabytes_of_anything_are_cleaned_and_shown_in_linear_time() -> None:
    """One second on an idle machine; quadratic work would take hours, so the limit here is generous."""
    slow = {}
    for piece in PIECES:
        text = (piece * (MEGABYTES_10 // len(piece) + 1))[:MEGABYTES_10]
        started = time.perf_counter()
        cleaned = clean(text, secrets=NEEDLES)
        for sink in SINKS.values():
            sink(cleaned)
        taken = time.perf_counter() - started
        if taken > 5:
            slow[piece] = taken
    assert slow == {}
