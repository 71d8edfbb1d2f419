"""Every image has the users that sandboxes run as, and decides unknown names."""

import io
import tarfile
from collections.abc import Iterator

import pytest
from docker.errors import BuildError, DockerException, NotFound

from sandbox.backends.docker_images import (
    _edit,
    find_missing_package,
    with_unknown_names,
    with_users,
)
from sandbox.backends.docker_setup import pack_file
from sandbox.types import CHANGED, USUAL

ROOT = b"root:x:0:0:root:/root:/bin/bash"


def test_a_failed_build_names_the_package_that_is_wrong() -> None:
    """The client's own text is only `returned a non-zero code: 100`."""
    stream = "Reading package lists...\n\x1b[91mE: Unable to locate package imagemagik\n\x1b[0m"
    error = BuildError("non-zero code: 100", iter([{"stream": stream}, {"error": "x"}]))
    assert find_missing_package(error) == "Unable to locate package imagemagik"
    other = [{"stream": "E: Failed to fetch http://user:key@mirror.invalid/x"}]
    assert not find_missing_package(BuildError("non-zero", iter(other)))
    assert not find_missing_package(DockerException("no route"))


@pytest.mark.parametrize("known", [ROOT, ROOT + b"\n", b""])
def test_a_list_gets_the_users_it_lacks_and_keeps_the_rest(known: bytes) -> None:
    made = with_users(known, "passwd")
    lines = made.decode().splitlines()
    assert lines[:-2] == known.decode().splitlines()
    assert [line.split(":") for line in lines[-2:]] == [
        [each.user, "x", str(each.uid), str(each.uid), "", each.home, "/bin/sh"]
        for each in (USUAL, CHANGED)
    ]
    assert with_users(made, "passwd") == made


def test_groups_are_named_as_users_are() -> None:
    assert with_users(b"", "group").decode() == "".join(
        f"{s.user}:x:{s.uid}:\n" for s in (USUAL, CHANGED)
    )


def test_unknown_names_are_decided_by_the_machine_when_no_name_server_responds() -> None:
    known = b"passwd: files\nhosts: files mdns4_minimal [NOTFOUND=return] dns\nnetworks: files\n"
    made = with_unknown_names(known, "nsswitch.conf")
    assert made == b"passwd: files\nnetworks: files\nhosts: files dns files\n"
    assert with_unknown_names(made, "nsswitch.conf") == made
    assert with_unknown_names(b"", "nsswitch.conf") == b"hosts: files dns files\n"


class AnImage:
    """A container of an image with these archives of files in /etc, as the daemon sends them."""

    def __init__(self, **files: bytes) -> None:
        self.files = {f"/etc/{name}": content for name, content in files.items()}

    def get_archive(self, path: str) -> tuple[Iterator[bytes], dict[str, int]]:
        if path not in self.files:
            raise NotFound(path)
        return iter([self.files[path]]), {"size": len(self.files[path])}


def a_link(name: str, target: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = tarfile.SYMTYPE, target
        archive.addfile(member)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("image", "rest"),
    [
        (
            AnImage(**{"nsswitch.conf": pack_file("nsswitch.conf", b"passwd: files\n")}),
            "passwd: files\n",
        ),
        (AnImage(**{"nsswitch.conf": a_link("nsswitch.conf", "authselect/nsswitch.conf")}), ""),
        (AnImage(), ""),
    ],
    ids=["a file", "a link", "nothing"],
)
def test_a_file_of_an_image_is_edited_and_a_link_becomes_a_file(image: AnImage, rest: str) -> None:
    made = _edit(image, "nsswitch.conf", with_unknown_names)
    with tarfile.open(fileobj=io.BytesIO(made)) as archive:
        file = archive.extractfile("nsswitch.conf")
        assert file is not None
        assert file.read().decode() == f"{rest}hosts: files dns files\n"
