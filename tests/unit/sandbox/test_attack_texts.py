"""Every hostile text of a corpus is harmless after the gate."""

import base64
import json
import re
import time
import unicodedata

import pytest

from bot.domain.model import Passage
from bot.llm.spans import Sanitizer, compute_nonce, render_passages
from sandbox.gate import clean, fenced, for_markdown, for_workflow_log, prepare_needles
from tests.attack_corpus import CORPORA, Attack, corpus, generate, pick

pytestmark = pytest.mark.shared


WINDOW = 12
"""So many characters of a secret in a row are a leak."""

TOKEN = re.compile(r"gh[pousr]_\w{8}|AKIA\w{8}")


@pytest.fixture(scope="module", params=CORPORA)
def texts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Attack]:
    return generate(corpus(request), tmp_path_factory.mktemp("texts"), "text")


def text_of(attack: Attack) -> str:
    return (attack.folder / "text.txt").read_bytes().decode("utf-8", "replace")


def secrets_of(attack: Attack) -> list[str]:
    file = attack.folder / "secrets.json"
    return json.loads(file.read_text()) if file.exists() else []


def leaks(attack: Attack, text: str) -> list[str]:
    """Return what is left of the case's secrets: any part of them, also backwards, in hexadecimal or in base64."""
    squeezed = re.sub(r"[\s\\\"']", "", text)
    found = TOKEN.findall(squeezed)
    for line in (
        line
        for secret in secrets_of(attack)
        for line in secret.splitlines()
        if not line.startswith("--")
    ):
        written = base64.b64encode(line.encode()).decode().rstrip("=")
        for form in (line, line[::-1], line.encode().hex(), written):
            parts = {
                form[start : start + WINDOW] for start in range(max(1, len(form) - WINDOW + 1))
            }
            found += [part for part in parts if part in squeezed]
    return found


def test_no_attack_text_keeps_a_control_or_hidden_character(texts: list[Attack]) -> None:
    for attack in texts:
        left = {
            c
            for c in clean(text_of(attack))
            if c not in "\n\t" and unicodedata.category(c) in {"Cc", "Cf", "Co", "Cs"}
        }
        assert left == set(), attack.name


def test_no_attack_text_carries_a_secret_through_any_sink(texts: list[Attack]) -> None:
    for attack in pick(texts, redacted=True):
        assert leaks(attack, text_of(attack)), (
            f"{attack.name} holds no secret: a check of it would be vacuous"
        )
        cleaned = clean(text_of(attack), secrets=secrets_of(attack))
        for sink in (cleaned, for_markdown(cleaned), fenced(cleaned), for_workflow_log(cleaned)):
            assert leaks(attack, sink) == [], attack.name
        assert "***" in cleaned


def test_every_attack_text_is_bounded_and_quick(texts: list[Attack]) -> None:
    for attack in texts:
        started = time.process_time()
        cleaned = clean(text_of(attack), secrets=secrets_of(attack))
        assert time.process_time() - started < 10, attack.name
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
        mark = compute_nonce([passage])
        prompt = render_passages((passage,), mark, Sanitizer(prepare_needles(secrets_of(attack))))
        assert prompt.count(mark) == 2
        assert prompt.endswith(f"\n</passage {mark}>")
        assert not attack.expect.get("redacted") or leaks(attack, prompt) == [], attack.name
