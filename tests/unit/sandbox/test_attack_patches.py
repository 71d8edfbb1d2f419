"""Every hostile patch of the corpus is refused, the honest one is accepted."""

from pathlib import Path

import pytest

from sandbox.changes import read_patch, validate_edits
from sandbox.errors import ChangeRejected
from tests.attack_corpus import Attack, generate

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def patches(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Attack]:
    return generate(shared, tmp_path_factory.mktemp("patches"), "patch")


def judged(attack: Attack) -> str:
    try:
        edits = read_patch((attack.folder / "patch.diff").read_bytes(), attack.read)
    except ChangeRejected:
        return "REJECT"
    verdict = validate_edits(edits, {edit.path: attack.read(edit.path) for edit in edits})
    return "ACCEPT" if verdict.accepted else "REJECT"


def test_every_attack_patch_of_the_corpus_gets_the_answer_it_deserves(patches: list[Attack]) -> None:
    wrong = {attack.name: judged(attack) for attack in patches if judged(attack) != attack.expect["patch"]}
    assert wrong == {}
    assert {attack.expect["patch"] for attack in patches} == {"ACCEPT", "REJECT"}, "the control is there"
