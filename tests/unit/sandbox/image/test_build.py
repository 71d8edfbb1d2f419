"""What the toolchain image is made of."""

import contextlib
import re
import sys
from pathlib import Path

import pytest

from sandbox.errors import SandboxUnavailable
from sandbox.image import build
from sandbox.spec import SandboxSpec

DOCKERFILE = Path(build.__file__).with_name("Dockerfile").read_text()


def test_the_dockerfile_installs_the_same_packages() -> None:
    listed = re.search(r"--no-install-recommends \\\n(.*?) && ", DOCKERFILE, re.DOTALL)
    assert listed is not None
    packages = tuple(listed.group(1).replace("\\", "").split())
    assert packages == (*build.PACKAGES, "${FURTHER_PACKAGES}")


def test_the_dockerfile_has_the_same_installer_and_user() -> None:
    assert f"UV_VERSION={build.UV_VERSION}\n" in DOCKERFILE
    assert "sandbox:x:65532:65532::/home/sandbox:/bin/sh" in DOCKERFILE
    assert DOCKERFILE.rstrip().endswith("USER 65532:65532")


def test_another_suite_is_another_image() -> None:
    assert build.inputs_hash(SandboxSpec()) != build.inputs_hash(SandboxSpec(debian_suite="trixie"))
    assert build.inputs_hash(SandboxSpec()) == build.inputs_hash(SandboxSpec(memory_bytes=1 << 32))


def test_further_packages_are_another_image_whatever_their_order() -> None:
    images = [
        build.inputs_hash(SandboxSpec.model_validate({"debian_packages": names}))
        for names in ("", "cargo, rustfmt", "rustfmt cargo", "cargo")
    ]
    assert len(set(images)) == 3
    assert images[1] == images[2]
    assert images[0] == build.inputs_hash(SandboxSpec())


def test_the_newer_packages_of_a_suite_are_taken_if_it_has_them() -> None:
    wanted = ("libpq-dev", "cargo", "rustfmt")
    assert build.newest("bookworm", wanted) == ("libpq-dev", "cargo-web", "rustfmt-web")
    assert build.newest("trixie", wanted) == wanted


@pytest.mark.parametrize("name", ["--include=x", "Cargo", "a", "cargo;id", "cargo\n"])
def test_only_names_of_debian_packages_are_taken(name: str) -> None:
    with pytest.raises(ValueError, match="debian_packages"):
        SandboxSpec(debian_packages=(name,))


@pytest.mark.parametrize(
    ("targets", "mirror"),
    [
        ("bookworm main http://a.invalid/debian\n", "http://a.invalid/debian"),
        (
            "bookworm-security main http://s.invalid/x\nbookworm main https://b.invalid/debian\n",
            "https://b.invalid/debian",
        ),
        ("jammy main http://u.invalid/ubuntu\n", None),
        ("bookworm contrib http://a.invalid/debian\n", None),
        ("bookworm main file:///srv/mirror\n", None),
        ("", None),
        ("nonsense\n", None),
    ],
)
def test_the_mirror_is_the_one_apt_uses_for_the_suite(targets: str, mirror: str | None) -> None:
    assert build.choose_mirror(targets, "bookworm") == mirror


def test_no_address_of_a_mirror_or_registry_is_written_down() -> None:
    source = Path(build.__file__).read_text()
    assert not re.search(r"https?://[a-z]", source)


def test_a_tool_that_takes_too_long_is_told_without_its_variables() -> None:
    with pytest.raises(SandboxUnavailable, match=r"^Waiting took longer than 0.2 s\.$") as caught:
        build.run_tool(
            ["sleep", "9"],
            "Waiting",
            extra_env={"http_proxy": "http://u:hunter2@p.invalid"},
            wall_s=0.2,
        )
    assert caught.value.__suppress_context__  # a log of the whole error shows no command either


def test_no_module_of_the_folder_we_were_called_in_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip/__main__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    (tmp_path / "pip/__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(SandboxUnavailable):  # there may be no other pip
        build.run_tool([sys.executable, "-m", "pip", "--version"], "Looking for pip")
    assert not (tmp_path / "ran").exists()
