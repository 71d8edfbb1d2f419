"""The check of a container against its specification: every weakening is found."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from sandbox.spec import SandboxSpec
from sandbox.types import CHANGED

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
        "ExtraHosts": ["sandbox:127.0.1.1"],
        "IpcMode": "private",
        "CgroupnsMode": "private",
        "RestartPolicy": {"Name": "no"},
        "SecurityOpt": ["no-new-privileges:true"],
        "Tmpfs": SPEC.folders("mission"),
        "Ulimits": [
            {"Name": name, "Soft": value, "Hard": value}
            for name, value in SPEC.ulimits("mission").items()
        ],
        "Runtime": "runc",
        "OomScoreAdj": 0,
        "MaskedPaths": ["/proc/kcore"],
        "ReadonlyPaths": ["/proc/sys"],
        "Mounts": None,
        "Binds": None,
        "Devices": [],
        "PortBindings": {},
        "PidMode": "",
    },
    "Config": {"User": "65532:65532", "Env": ["PATH=/bin"], "Volumes": None},
    "AppArmorProfile": "docker-default",
    "Mounts": [],
}
FOLDER = "/var/cache/metaagent/egress/abc/in"
MOUNT: dict[str, Any] = {
    "Type": "bind",
    "Source": FOLDER,
    "Target": "/run/egress",
    "ReadOnly": True,
}
BECAME: dict[str, Any] = {
    "Type": "bind",
    "Source": FOLDER,
    "Destination": "/run/egress",
    "RW": False,
}


def changed(part: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The good description with some fields different."""
    found = copy.deepcopy(GOOD)
    (found[part] if part else found).update(changes)
    return found


def as_setup(
    mounts: list[dict[str, Any]] | None = None, became: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """A good set-up container, with these mounts."""
    ulimits = [
        {"Name": name, "Soft": value, "Hard": value}
        for name, value in SPEC.ulimits("setup").items()
    ]
    changes = {"ReadonlyRootfs": False, "Tmpfs": SPEC.folders("setup"), "Ulimits": ulimits}
    found = changed("HostConfig", {**changes, "Mounts": [MOUNT] if mounts is None else mounts})
    return {**found, "Mounts": [BECAME] if became is None else became}


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
        ("HostConfig", {"Tmpfs": {**SPEC.folders("mission"), "/tmp": "rw,exec,size=99g"}}),
        ("HostConfig", {"Tmpfs": {**SPEC.folders("mission"), "/more": "rw"}}),
        ("HostConfig", {"Tmpfs": SPEC.folders("setup")}),
        ("HostConfig", {"Ulimits": None}),
        ("HostConfig", {"Ulimits": [{"Name": "nofile", "Soft": 1024, "Hard": 1 << 20}]}),
        ("HostConfig", {"MaskedPaths": []}),
        ("HostConfig", {"ReadonlyPaths": []}),
        ("HostConfig", {"OomScoreAdj": -500}),
        ("HostConfig", {"DeviceCgroupRules": ["a *:* rwm"]}),
        ("HostConfig", {"Sysctls": {"net.ipv4.ip_forward": "1"}}),
        ("HostConfig", {"Sysctls": {"net.ipv6.conf.lo.disable_ipv6": "1"}}),
        ("HostConfig", {"ExtraHosts": ["sandbox:127.0.1.1", "host:host-gateway"]}),
        ("HostConfig", {"PublishAllPorts": True}),
        ("HostConfig", {"CgroupParent": "/system.slice"}),
        ("HostConfig", {"Mounts": [MOUNT]}),
        (
            "",
            {
                "Mounts": [
                    {
                        "Type": "volume",
                        "Source": "/var/lib/docker/volumes/x",
                        "Destination": "/x",
                        "RW": True,
                    }
                ]
            },
        ),
        ("Config", {"User": ""}),
        ("Config", {"User": "0"}),
        ("Config", {"Env": ["PATH=/bin", "GITHUB_TOKEN=x"]}),
        ("Config", {"Volumes": {"/data": {}}}),
    ],
)
def test_every_weakening_is_found(part: str, changes: dict[str, Any]) -> None:
    assert SPEC.check(changed(part, changes))


def test_the_set_up_phase_has_the_folder_of_its_proxy_and_a_writable_root_and_no_network() -> None:
    assert SPEC.check(as_setup(), "setup", egress=FOLDER) == []
    assert {deviation.field for deviation in SPEC.check(as_setup())} == {
        "folders in memory",
        "limits of a process",
        "mounts",
        "read-only root",
    }
    assert SPEC.check(GOOD, "setup", egress=FOLDER)


@pytest.mark.parametrize(
    ("mounts", "became"),
    [
        ([], []),
        ([{**MOUNT, "ReadOnly": False}], [{**BECAME, "RW": True}]),
        ([MOUNT], [{**BECAME, "RW": True}]),
        ([{**MOUNT, "Source": "/"}], [{**BECAME, "Source": "/"}]),
        ([{**MOUNT, "Target": "/etc"}], [{**BECAME, "Destination": "/etc"}]),
        ([{**MOUNT, "Type": "volume"}], [{**BECAME, "Type": "volume"}]),
        ([MOUNT, {**MOUNT, "Source": "/var/run", "Target": "/var/run"}], None),
        (None, [BECAME, {**BECAME, "Source": "/root", "Destination": "/root"}]),
    ],
)
def test_a_set_up_has_that_one_mount_and_no_other(
    mounts: list[dict[str, Any]] | None, became: list[dict[str, Any]] | None
) -> None:
    assert [
        found.field for found in SPEC.check(as_setup(mounts, became), "setup", egress=FOLDER)
    ] == ["mounts"]


def test_a_set_up_on_a_network_is_a_deviation_unless_the_operator_said_so() -> None:
    bridged = as_setup([], [])
    bridged["HostConfig"]["NetworkMode"] = "bridge"
    assert [found.field for found in SPEC.check(bridged, "setup")] == ["network"]
    assert SandboxSpec(setup_network="bridge").check(bridged, "setup") == []


def test_the_runtime_is_the_one_that_was_asked_for() -> None:
    assert SPEC.check(GOOD, runtime="runsc")
    assert SandboxSpec(runtime="require").check(GOOD)
    assert SandboxSpec(require_runtime=True).check(GOOD)
    stronger = changed("HostConfig", {"Runtime": "runsc"})
    assert (
        SPEC.check(stronger, runtime="runsc")
        == SandboxSpec(runtime="require").check(stronger)
        == []
    )


def test_apparmor_confines_where_there_is_one() -> None:
    assert SPEC.check(GOOD, apparmor=True) == []
    for profile in ("", "unconfined", None):
        assert SPEC.check(changed("", {"AppArmorProfile": profile}), apparmor=True)
        assert SPEC.check(changed("", {"AppArmorProfile": profile})) == []


def test_files_in_memory_leave_room_for_processes() -> None:
    with pytest.raises(
        ValidationError, match=r"ask for 904 MiB .* at most 60% of memory_bytes \(512 MiB\)"
    ):
        SandboxSpec(memory_bytes=512 << 20)
    assert SandboxSpec(memory_bytes=512 << 20, backend="local").work_bytes == 512 << 20
    assert SandboxSpec(memory_bytes=1600 << 20).work_bytes == 512 << 20


def test_hosts_can_be_given_as_one_text() -> None:
    assert SandboxSpec.model_validate(
        {"egress_hosts": "a.example, b.example:8443"}
    ).egress_hosts == (
        "a.example",
        "b.example:8443",
    )


def test_a_deviation_is_told_in_words_and_without_values_of_variables() -> None:
    (deviation,) = SPEC.check(changed("Config", {"Env": ["TOKEN=secret"]}))
    assert str(deviation) == "environment is TOKEN, should be nothing of ours"


def test_a_description_without_anything_is_all_deviation() -> None:
    assert len(SPEC.check({})) > 5


def test_a_container_is_compared_with_the_surroundings_it_was_asked_for() -> None:
    own = {"Tmpfs": SPEC.folders("mission", CHANGED), "ExtraHosts": ["node-41c7:127.0.1.1"]}
    made = changed("HostConfig", own)
    made["Config"] = {**made["Config"], "User": f"{CHANGED.uid}:{CHANGED.uid}"}
    assert SPEC.check(made, surroundings=CHANGED) == []
    fields = {"user", "folders in memory", "host names"}
    assert {deviation.field for deviation in SPEC.check(made)} == fields
    assert {deviation.field for deviation in SPEC.check(GOOD, surroundings=CHANGED)} == fields
