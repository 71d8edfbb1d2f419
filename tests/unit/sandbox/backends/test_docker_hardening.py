"""How containers are made, and whose they are."""

import os

import pytest

from sandbox.backends.docker_hardening import container_arguments, runtime
from sandbox.backends.owners import is_orphan, owner
from sandbox.spec import SandboxSpec


def test_a_mission_has_no_network_no_rights_and_no_writable_root() -> None:
    made = container_arguments(SandboxSpec(), "mission", None)
    assert made["network_mode"] == "none"
    assert made["read_only"] is True
    assert made["cap_drop"] == ["ALL"]
    assert made["security_opt"] == ["no-new-privileges:true"]
    assert made["user"] == "65532:65532"
    assert made["mem_limit"] == made["memswap_limit"]
    assert not {
        "volumes",
        "mounts",
        "devices",
        "environment",
        "ports",
        "privileged",
        "cap_add",
    } & set(made)


def test_a_set_up_differs_only_in_root_folders_and_the_socket_of_its_proxy() -> None:
    spec = SandboxSpec()
    mission, setup = (
        container_arguments(spec, "mission", None),
        container_arguments(spec, "setup", None, "/egress"),
    )
    differing = {name for name in setup if mission.get(name) != setup[name]}
    assert differing == {"mounts", "read_only", "tmpfs", "ulimits", "labels"}
    assert setup["network_mode"] == "none"
    (mount,) = setup["mounts"]
    assert (mount["Type"], mount["Source"], mount["Target"]) == ("bind", "/egress", "/run/egress")
    assert mount["ReadOnly"]


def test_a_set_up_on_a_network_needs_the_operators_word() -> None:
    made = container_arguments(SandboxSpec(setup_network="bridge"), "setup", None)
    assert made["network_mode"] == "bridge"
    assert "mounts" not in made


@pytest.mark.parametrize("phase", ["mission", "setup"])
def test_every_folder_in_memory_is_bounded_and_without_setuid(phase: str) -> None:
    made = container_arguments(SandboxSpec(), phase, None)  # type: ignore[arg-type]
    for folder, options in made["tmpfs"].items():
        assert "size=" in options, folder
        assert options.startswith("ro,") or {"nosuid", "nodev"} <= set(options.split(",")), folder


@pytest.mark.parametrize(
    ("wanted", "known", "chosen"),
    [
        ("auto", {"runc", "runsc"}, "runsc"),
        ("auto", {"runc"}, None),
        ("runc", {"runsc"}, None),
        ("require", {"runsc"}, "runsc"),
    ],
)
def test_gvisor_is_taken_when_it_is_there(wanted: str, known: set[str], chosen: str | None) -> None:
    assert runtime(SandboxSpec.model_validate({"runtime": wanted}), frozenset(known)) == chosen


def test_gvisor_that_is_required_is_never_left_out() -> None:
    spec = SandboxSpec(runtime="runc", require_runtime=True)
    assert runtime(spec, frozenset({"runc", "runsc"})) == "runsc"


def test_only_a_dead_process_of_this_very_host_leaves_orphans() -> None:
    here = owner()
    namespace, pid, started = here.rsplit("/", 2)
    assert int(pid) == os.getpid()
    assert not is_orphan(here)
    assert is_orphan(f"{namespace}/{pid}/{int(started) + 1}")
    assert is_orphan(f"{namespace}/{2**22 - 1}/5")
    assert not is_orphan(f"elsewhere/1/{2**22 - 1}/5")
    assert not is_orphan("")
    assert not is_orphan("nonsense")
