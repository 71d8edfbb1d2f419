"""Every image has the users that sandboxes run as, and decides unknown names."""

import pytest

from sandbox.backends.docker_images import with_unknown_names, with_users
from sandbox.types import CHANGED, USUAL

ROOT = b"root:x:0:0:root:/root:/bin/bash"


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
