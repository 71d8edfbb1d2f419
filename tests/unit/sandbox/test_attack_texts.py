"""Every hostile text of the corpus is harmless after the gate."""

import json
import re
import time
import unicodedata
from pathlib import Path

import pytest

from bot.domain.model import Passage
from bot.llm.spans import Washer, nonce_of, spans
from sandbox.gate import clean, fenced, for_markdown, for_workflow_log, needles_of
from tests.attack_corpus import Attack, generate

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def texts(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Attack]:
    return generate(shared, tmp_path_factory.mktemp("texts"), "text")


def text_of(attack: Attack) -> str:
    return (attack.folder / "text.txt").read_bytes().decode("utf-8", "replace")


def secrets_of(attack: Attack) -> list[str]:
    file = attack.folder / "secrets.json"
    return json.loads(file.read_text()) if file.exists() else []


def test_no_attack_text_keeps_a_control_or_hidden_character(texts: list[Attack]) -> None:
    for attack in texts:
        left = {
            c for c in clean(text_of(attack)) if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cf", "Co", "Cs"}
        }
        assert left == set(), attack.name


def test_no_attack_text_carries_a_canary_through_any_sink(texts: list[Attack]) -> None:
    redacting = [attack for attack in texts if attack.expect.get("redacted")]
    assert redacting
    for attack in redacting:
        cleaned = clean(text_of(attack), secrets=secrets_of(attack))
        for sink in (cleaned, for_markdown(cleaned), fenced(cleaned), for_workflow_log(cleaned)):
            squeezed = re.sub(r"[\s\\\"']", "", sink)
            assert "CANARY" not in squeezed, attack.name
            assert "YRANAC" not in squeezed
            assert b"CANARY".hex() not in squeezed
            assert not re.search(r"gh[ps]_\w{8}|AKIA\w{8}", squeezed)
            assert cleaned.count("***") >= 15


def test_every_attack_text_is_bounded_and_quick(texts: list[Attack]) -> None:
    for attack in texts:
        started = time.perf_counter()
        cleaned = clean(text_of(attack), secrets=secrets_of(attack))
        assert time.perf_counter() - started < 10, attack.name
        assert len(cleaned.encode()) <= attack.expect.get("max_bytes", 65_536)


def test_no_attack_text_means_anything_to_markdown_or_a_runner(texts: list[Attack]) -> None:
    for attack in texts:
        cleaned = clean(text_of(attack))
        markdown = for_markdown(cleaned)
        assert not re.search(r"(?<!\\)[`*_\[\]<>]|@\w|(?<!\\)#|://", markdown), attack.name
        fence = fenced(cleaned).split("\n", 1)[0].removesuffix("text")
        assert fence not in cleaned
        assert not re.search(r"(?m)^\s*::|##\[", for_workflow_log(cleaned))


def test_an_attack_on_a_prompt_cannot_close_its_passage(texts: list[Attack]) -> None:
    for attack in texts:
        passage = Passage(label="text", text=text_of(attack), origin=text_of(attack))
        mark = nonce_of([passage])
        prompt = spans((passage,), mark, Washer(needles_of(secrets_of(attack))))
        assert prompt.count(mark) == 2
        assert prompt.endswith(f"\n</passage {mark}>")
        assert "CANARY" not in prompt or not attack.expect.get("redacted"), attack.name
