"""Every hostile patch of a corpus is refused, an honest one is accepted."""

import pytest

from sandbox.changes import read_patch, validate_edits
from sandbox.errors import ChangeRejected
from sandbox.types import FileEdit
from tests.attack_corpus import CORPORA, Attack, corpus, generate

pytestmark = pytest.mark.shared


ANSWERS = {"ACCEPT", "REJECT"}


@pytest.fixture(scope="module", params=CORPORA)
def patches(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[Attack]:
    return generate(corpus(request), tmp_path_factory.mktemp("patches"), "patch")


def judged(attack: Attack, patch: bytes) -> str:
    try:
        edits = read_patch(patch, attack.read)
    except ChangeRejected:
        return "REJECT"
    verdict = validate_edits(edits, {edit.path: attack.read(edit.path) for edit in edits})
    if verdict.accepted and not all(
        keeps_line_ends(edit, attack.read(edit.path)) for edit in edits
    ):
        return "ACCEPT, with other line ends"
    return "ACCEPT" if verdict.accepted else "REJECT"


def keeps_line_ends(edit: FileEdit, before: bytes | None) -> bool:
    return before is None or (b"\r" in edit.content) == (b"\r" in before)


def allowed(attack: Attack) -> set[str]:
    """Return the answers that are right; a case that names neither leaves the choice."""
    wanted = attack.expect.get("patch")
    return {wanted} if wanted in ANSWERS else ANSWERS


def honest(path: str, text: str) -> bytes:
    """Return a patch that adds a harmless line to a file."""
    lines = [f" {line}" for line in text.splitlines()]
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{len(lines)} +1,{len(lines) + 1} @@\n"
    return (head + "\n".join([*lines, "+VERSION = 2"]) + "\n").encode()


def test_every_attack_patch_gets_an_answer_it_deserves(patches: list[Attack]) -> None:
    answers = {
        attack.name: judged(attack, (attack.folder / "patch.diff").read_bytes())
        for attack in patches
    }
    assert {
        attack.name: answers[attack.name]
        for attack in patches
        if answers[attack.name] not in allowed(attack)
    } == {}


def test_an_honest_patch_of_the_same_repositories_is_accepted(patches: list[Attack]) -> None:
    """The control, whatever the corpus holds."""
    for attack in patches:
        for file in (attack.folder / "repo").glob("*.py"):
            if not file.name.startswith("test_"):
                assert judged(attack, honest(file.name, file.read_text())) == "ACCEPT", attack.name
