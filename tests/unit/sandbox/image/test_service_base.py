"""The bases of the service's images."""

from pathlib import Path

import pytest

from sandbox.image.service_base import BASES, PACKAGES, hash_inputs, main
from sandbox.spec import SandboxSpec

ROOT = Path(__file__).parents[4]


def test_the_base_of_web_is_that_of_the_service_without_git() -> None:
    assert "git" in PACKAGES
    assert set(BASES["git"]) < set(BASES["web"])
    assert {"./usr/bin/git*", "./usr/lib/git-core"} <= set(BASES["web"]) - set(BASES["git"])


def test_the_script_finds_the_bases_by_their_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    assert capsys.readouterr().out == f"{hash_inputs(SandboxSpec())}\n"
    assert hash_inputs(SandboxSpec(debian_suite="trixie")) != hash_inputs(SandboxSpec())
    script = (ROOT / "scripts" / "build-service-image").read_text()
    assert all(f'"$folder/{name}.tar"' in script for name in BASES)
