"""The environment variables of commands."""

import ssl
from pathlib import Path

import pytest

from sandbox.backends import variables
from sandbox.errors import SandboxUnavailable
from sandbox.spec import SandboxSpec
from sandbox.types import CHANGED, USUAL


def test_a_command_finds_six_names() -> None:
    found = variables.for_commands(("/a", "/b"), "/home/x")
    assert set(found) == {"PATH", "HOME", "LANG", "PYTHONDONTWRITEBYTECODE", "CI", "TZ"}
    assert found["PATH"] == "/a:/b"


def test_a_set_up_finds_where_and_from_where() -> None:
    found = variables.for_setup(
        SandboxSpec(index_url="https://index.invalid/simple"), "/opt/env", "/tmp/ca.pem"
    )
    assert found["VIRTUAL_ENV"] == "/opt/env"
    assert found["UV_DEFAULT_INDEX"] == found["PIP_INDEX_URL"] == "https://index.invalid/simple"
    assert found["SSL_CERT_FILE"] == found["PIP_CERT"] == "/tmp/ca.pem"
    names = {"VIRTUAL_ENV", "UV_NO_PROGRESS", "NO_PROXY", "no_proxy"}
    assert set(variables.for_setup(SandboxSpec(), "/opt/env", None)) == names


@pytest.mark.parametrize(
    ("spec", "left"),
    [
        (SandboxSpec(index_url="https://index.invalid/simple"), "localhost,127.0.0.1,::1"),
        (SandboxSpec(index_url="http://127.0.0.1:8080/simple"), "localhost,::1"),
        (SandboxSpec(python_mirror="http://[::1]:8080/pythons"), "localhost,127.0.0.1"),
        (SandboxSpec(egress_hosts=("http://localhost:1", "127.0.0.1:2")), "::1"),
    ],
)
def test_an_index_on_this_machine_is_asked_for_through_the_proxy(
    spec: SandboxSpec, left: str
) -> None:
    found = variables.for_setup(spec, "/opt/env", None)
    assert found["NO_PROXY"] == found["no_proxy"] == left


@pytest.mark.parametrize(
    "url", ["https://user:hunter2@index.invalid/simple", "https://hunter2@index.invalid/simple"]
)
@pytest.mark.parametrize("name", ["index_url", "python_mirror", "python_downloads_json"])
def test_an_address_with_a_password_is_refused_and_not_told(name: str, url: str) -> None:
    with pytest.raises(SandboxUnavailable, match="no secret enters") as refused:
        variables.for_setup(SandboxSpec.model_validate({name: url}), "/opt/env", None)
    assert "hunter2" not in refused.value.message + refused.value.advice


def test_a_bundle_that_is_named_is_taken(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"certificates")
    assert variables.ca_bundle(SandboxSpec(ca_bundle=str(tmp_path / "ca.pem"))) == b"certificates"


def test_a_bundle_that_cannot_be_read_is_the_operators_matter(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="CA bundle"):
        variables.ca_bundle(SandboxSpec(ca_bundle=str(tmp_path / "none.pem")))


def test_without_a_name_the_hosts_own_bundle_is_taken() -> None:
    found = variables.ca_bundle(SandboxSpec())
    if ssl.get_default_verify_paths().cafile:
        assert b"BEGIN CERTIFICATE" in found


def test_changed_surroundings_share_no_value_that_could_tell_where_a_command_runs() -> None:
    usual = variables.for_commands(("/a",), USUAL.home, USUAL)
    changed = variables.for_commands(("/a",), CHANGED.home, CHANGED)
    same = {name for name in usual if usual[name] == changed.get(name)}
    assert same == {"PATH", "PYTHONDONTWRITEBYTECODE"}
    assert "CI" not in changed
