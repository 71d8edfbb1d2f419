"""The check of a container against its specification: every weakening is found."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from sandbox.spec import SandboxSpec

SPEC = SandboxSpec()
GOOD: dict[str, Any] = {
    "HostConfig": {
        "NetworkMode": "none",
        "ReadonlyRootfs": True,
        "Privileged": False,
        "CapDrop": ["ALL"],
        "CapAdd": None,
        "PidsLimit": SPEC.pids,
        "Memory": SPEC.memory_bytes,
        "MemorySwap": SPEC.memory_bytes,
        "NanoCpus": int(SPEC.cpus * 1e9),
        "ShmSize": SPEC.shm_bytes,
        "LogConfig": {"Type": "none"},
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "RestartPolicy": {"Name": "no"},
        "SecurityOpt": ["no-new-privileges:true"],
        "Tmpfs": {"/work": "rw,nosuid,nodev,size=1"},
        "Binds": None,
        "Devices": [],
        "PortBindings": {},
        "PidMode": "",
    },
    "Config": {"User": "65532:65532", "Env": ["PATH=/bin"], "Volumes": None},
}


def changed(part: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The good description with some fields different."""
    found = copy.deepcopy(GOOD)
    found[part].update(changes)
    return found


def test_a_container_as_specified_has_no_deviation() -> None:
    assert SPEC.check(GOOD) == []


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("HostConfig", {"NetworkMode": "bridge"}),
        ("HostConfig", {"NetworkMode": "host"}),
        ("HostConfig", {"ReadonlyRootfs": False}),
        ("HostConfig", {"Privileged": True}),
        ("HostConfig", {"CapDrop": None}),
        ("HostConfig", {"CapAdd": ["SYS_ADMIN"]}),
        ("HostConfig", {"PidsLimit": None}),
        ("HostConfig", {"PidsLimit": -1}),
        ("HostConfig", {"Memory": 0}),
        ("HostConfig", {"MemorySwap": -1}),
        ("HostConfig", {"NanoCpus": 0}),
        ("HostConfig", {"LogConfig": {"Type": "json-file"}}),
        ("HostConfig", {"IpcMode": "host"}),
        ("HostConfig", {"CgroupnsMode": "host"}),
        ("HostConfig", {"PidMode": "host"}),
        ("HostConfig", {"UTSMode": "host"}),
        ("HostConfig", {"UsernsMode": "host"}),
        ("HostConfig", {"SecurityOpt": []}),
        ("HostConfig", {"SecurityOpt": ["no-new-privileges:true", "seccomp=unconfined"]}),
        ("HostConfig", {"SecurityOpt": ["no-new-privileges:true", "apparmor=unconfined"]}),
        ("HostConfig", {"Binds": ["/var/run/docker.sock:/var/run/docker.sock"]}),
        ("HostConfig", {"Mounts": [{"Type": "bind"}]}),
        ("HostConfig", {"VolumesFrom": ["other"]}),
        ("HostConfig", {"Devices": [{"PathOnHost": "/dev/kmsg"}]}),
        ("HostConfig", {"PortBindings": {"80/tcp": []}}),
        ("HostConfig", {"GroupAdd": ["docker"]}),
        ("HostConfig", {"OomKillDisable": True}),
        ("HostConfig", {"RestartPolicy": {"Name": "always"}}),
        ("HostConfig", {"Tmpfs": {}}),
        ("HostConfig", {"Tmpfs": {"/work": "rw,size=1"}}),
        ("Config", {"User": ""}),
        ("Config", {"User": "0"}),
        ("Config", {"Env": ["PATH=/bin", "GITHUB_TOKEN=x"]}),
        ("Config", {"Volumes": {"/data": {}}}),
    ],
)
def test_every_weakening_is_found(part: str, changes: dict[str, Any]) -> None:
    assert SPEC.check(changed(part, changes))


def test_the_set_up_phase_has_its_network_and_a_writable_root() -> None:
    setup = changed("HostConfig", {"NetworkMode": "bridge", "ReadonlyRootfs": False})
    assert SPEC.check(setup, "setup") == []
    assert {deviation.field for deviation in SPEC.check(setup)} == {"network", "read-only root"}
    assert SPEC.check(GOOD, "setup")


def test_a_deviation_is_told_in_words_and_without_values_of_variables() -> None:
    (deviation,) = SPEC.check(changed("Config", {"Env": ["TOKEN=secret"]}))
    assert str(deviation) == "environment is TOKEN, should be nothing of ours"


def test_a_description_without_anything_is_all_deviation() -> None:
    assert len(SPEC.check({})) > 5
