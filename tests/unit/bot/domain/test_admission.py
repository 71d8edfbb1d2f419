"""An admission is about a repository, and never carries a secret."""

import pytest
from pydantic import SecretStr

from bot.domain.admission import Admission
from bot.domain.mission import Outcome
from sandbox.types import Checkout, GitSource
from tests.builders import HEAD, a_folder_request, a_request


def test_what_is_not_refused_is_admitted() -> None:
    assert Admission(request=a_request()).admitted
    assert not Admission(request=a_request(), refusal=Outcome.POLICY).admitted


def test_only_a_request_about_a_repository_has_one() -> None:
    assert Admission(request=a_request()).repository.full_name == "octo/calculator"
    with pytest.raises(ValueError, match="about a repository"):
        _ = Admission(request=a_folder_request()).repository


def test_a_right_to_fetch_does_not_survive_being_stored() -> None:
    source = GitSource(
        url="https://x/y.git", sha=HEAD, repository_id="42", authorization=SecretStr("Basic abc")
    )
    stored = Admission(request=a_request(), checkout=Checkout(source=source)).model_dump_json()
    assert "Basic abc" not in stored
