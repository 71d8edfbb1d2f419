"""The compose files name only what the code has, and give each service no more than it needs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.cli import COMMANDS, build_parser
from bot.service import Role
from bot.settings import Settings, leaves, load
from tests.architecture.tracked import ROOT

ONE, MANY = ROOT / "deploy" / "compose.yaml", ROOT / "deploy" / "compose.postgres.yaml"
BOTH = (ONE, MANY)
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SOCKET = "/var/run/docker.sock"
GIVEN = {"DOCKER_GID": "999", "POSTGRES_PASSWORD": "example"}
"""What an operator chooses."""
Service = dict[str, Any]


def read(path: Path) -> dict[str, Any]:
    """A compose file."""
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def resolve(text: str) -> str:
    """Replace variables as compose does: `${NAME:-default}` and `${NAME:?message}`."""

    def value(found: re.Match[str]) -> str:
        name, kind, rest = found.groups()
        if kind == ":?":
            assert rest
            return GIVEN[name]
        assert kind == ":-", "a variable without a value would silently be empty"
        return str(rest)

    return re.sub(r"\$\{(\w+)(:[?-])?([^}]*)\}", value, text)


def ours(path: Path) -> dict[str, Service]:
    """The services that run our image."""
    services: dict[str, Service] = read(path)["services"]
    return {
        name: one
        for name, one in services.items()
        if resolve(one["image"]).startswith("metaagent:")
    }


def mounts(service: Service) -> dict[str, str]:
    """Targets of the volumes by their source."""
    return dict(resolve(one).split(":")[:2] for one in service["volumes"])


def settings_of(service: Service) -> Settings:
    """The settings that a service starts with, besides those of the App."""
    environment = {name: resolve(value) for name, value in service["environment"].items()}
    environment.pop("HOME")
    image = dict(re.findall(r"(METAAGENT_\w+)=(\S+)", DOCKERFILE))
    return load(environment=image | environment)


@pytest.mark.parametrize("path", BOTH, ids=lambda path: path.name)
def test_every_command_exists(path: Path) -> None:
    for service in ours(path).values():
        words = service["command"]
        assert words[0] in COMMANDS
        assert build_parser(words).parse_args(words).command_name == words[0]
    assert 'ENTRYPOINT ["metaagent"]' in DOCKERFILE


@pytest.mark.parametrize("path", BOTH, ids=lambda path: path.name)
def test_every_setting_exists_and_is_valid(path: Path, tmp_path: Path) -> None:
    variables = {leaf.variable for leaf in leaves()}
    for service in ours(path).values():
        assert set(service["environment"]) - {"HOME"} <= variables
        settings = settings_of(service)
        assert (str(settings.data_dir), settings.host, settings.port) == ("/data", "0.0.0.0", 8080)  # noqa: S104 -- of the image


@pytest.mark.parametrize("path", BOTH, ids=lambda path: path.name)
def test_what_a_service_keeps_is_in_a_volume_and_the_rest_is_read_only(path: Path) -> None:
    document = read(path)
    for service in ours(path).values():
        found, settings = mounts(service), settings_of(service)
        assert found["data"] == str(settings.data_dir) == service["environment"]["HOME"]
        assert "VOLUME /data" in DOCKERFILE
        assert (service["read_only"], service["tmpfs"]) == (True, ["/tmp"])
        named = {source for source in found if not source.startswith("/")}
        assert named <= set(document["volumes"])
        if settings.storage.url is not None:
            assert settings.storage.url.startswith(f"file://{found['data']}/")


@pytest.mark.parametrize("path", BOTH, ids=lambda path: path.name)
def test_only_a_service_that_runs_missions_reaches_docker(path: Path) -> None:
    for name, service in read(path)["services"].items():
        runs = service.get("command") in (["serve"], ["worker"])
        found = mounts(service)
        assert (SOCKET in found, "group_add" in service) == (runs, runs), name
        if runs:
            folder = settings_of(service).sandbox.egress_folder
            assert folder is not None
            assert found[folder] == folder, "Docker must see the sockets under the same path"


@pytest.mark.parametrize("path", BOTH, ids=lambda path: path.name)
def test_no_service_has_rights_that_it_does_not_need(path: Path) -> None:
    for name, service in read(path)["services"].items():
        assert "no-new-privileges:true" in service["security_opt"], name
        assert not {"privileged", "cap_add", "network_mode", "pid", "user"} & set(service), name
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), name
    for service in ours(path).values():
        assert service["cap_drop"] == ["ALL"]


def test_one_process_uses_sqlite_and_several_use_postgresql() -> None:
    (alone,) = ours(ONE).values()
    assert (alone["command"], settings_of(alone).database_url) == (["serve"], None)
    many = ours(MANY)
    assert {service["command"][0] for service in many.values()} == {Role.WEB, Role.WORKER}
    database = read(MANY)["services"]["database"]
    user, name = (database["environment"][f"POSTGRES_{key}"] for key in ("USER", "DB"))
    for service in many.values():
        url = settings_of(service).database_url
        assert url == f"postgresql://{user}:{GIVEN['POSTGRES_PASSWORD']}@database/{name}"
        assert service["depends_on"]["database"] == {"condition": "service_healthy"}


def test_the_database_is_reached_by_our_services_only_and_reaches_nothing() -> None:
    document = read(MANY)
    assert document["networks"]["database"] == {"internal": True}
    assert document["services"]["database"]["networks"] == ["database"]
    assert "ports" not in document["services"]["database"]
    for service in ours(MANY).values():
        assert set(service["networks"]) == set(document["networks"])


def test_a_worker_opens_no_port_that_a_health_check_could_ask() -> None:
    worker, web = ours(MANY)["worker"], ours(MANY)["web"]
    assert (worker["healthcheck"], "ports" in worker) == ({"disable": True}, False)
    assert ("healthcheck" in web, [*map(resolve, web["ports"])]) == (
        False,
        ["127.0.0.1:8080:8080"],
    )
    assert "HEALTHCHECK CMD" in DOCKERFILE


@pytest.mark.parametrize("path", BOTH, ids=lambda path: path.name)
def test_the_guide_names_every_variable_and_file(path: Path) -> None:
    guide = (ROOT / "docs" / "howto" / "self-host.md").read_text()
    needed = re.findall(r"\$\{(\w+):\?", path.read_text())
    for name in (*needed, path.name, *(one["env_file"] for one in ours(path).values())):
        assert name in guide, name
