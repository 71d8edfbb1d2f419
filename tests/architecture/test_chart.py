"""The Helm chart, rendered by Helm itself: valid objects, known settings, no more rights than needed."""

import re
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
import yaml
from fastapi.routing import APIRoute

from bot import __version__
from bot.app import create_app
from bot.cli import build_parser
from bot.dashboard.access import API
from bot.dashboard.render import BASE
from bot.front.health import health_router
from bot.service import Role, Service
from bot.settings import Settings, leaves, load
from tests.architecture.tracked import ROOT
from tests.github_server.server import new_private_key
from tests.missing import missing
from tests.postgres import Server

try:
    import helm_python
except ImportError:
    missing("Helm's library is not installed; it exists for Linux on x86-64 only")

CHART = ROOT / "deploy" / "helm" / "metaagent"
GUIDE = (ROOT / "docs" / "howto" / "kubernetes.md").read_text()
LEAST: dict[str, Any] = {"app": {"id": "12345", "slug": "your-app"}, "secret": "keys"}
FULL: dict[str, Any] = LEAST | {
    "imagePullSecrets": [{"name": "registry"}],
    "database": {"secret": "postgres", "key": "uri"},
    "storage": {"url": "s3://blobs/production"},
    "env": {"METAAGENT_WORKERS": "3"},
    "serviceAccount": "bucket",
    "web": {"replicas": 2, "podAnnotations": {"a": "b"}, "tolerations": [{"operator": "Exists"}]},
    "worker": {"replicas": 3, "env": {"METAAGENT_WORKERS": "4"}, "nodeSelector": {"docker": "yes"}},
    "docker": {"host": "tcp://docker.example.com:2376", "tlsSecret": "docker-tls"},
    "service": {"type": "NodePort", "port": 8080},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "host": "bot.example.com",
        "tlsSecret": "tls",
        "annotations": {"example.com/a": "b"},
    },
    "metrics": {"enabled": True, "serviceMonitor": {"enabled": True, "labels": {"team": "ci"}}},
}
CLAIMED = LEAST | {"storage": {"volume": {"existingClaim": "mine"}}}
ALL = {"least": LEAST, "full": FULL, "claimed": CLAIMED}
VERSIONS = ("1.25", "1.37")
"""The oldest Kubernetes that the chart names, and the newest whose schemas we have."""
IMAGE = dict(re.findall(r"(METAAGENT_\w+)=(\S+)", (ROOT / "Dockerfile").read_text()))
Manifest = dict[str, Any]


def render(values: dict[str, Any], name: str = "bot") -> list[Manifest]:
    """The objects that Helm would create."""
    with helm_python.Chart.load(CHART) as chart:
        texts: dict[str, str] = chart.render(values, name=name, namespace="ci")
    found = (yaml.safe_load(text) for path, text in texts.items() if path.endswith(".yaml"))
    return [one for one in found if one]


def kinds(values: dict[str, Any]) -> dict[str, Manifest]:
    """The objects by kind; of the two Deployments by their part."""
    return {
        one["metadata"]["labels"]["app.kubernetes.io/component"]
        if one["kind"] == "Deployment"
        else one["kind"]: one
        for one in render(values)
    }


def pod(values: dict[str, Any], part: str) -> Manifest:
    """What a pod of a Deployment is made of."""
    found: Manifest = kinds(values)[part]["spec"]["template"]["spec"]
    return found


def container(values: dict[str, Any], part: str) -> Manifest:
    (found,) = pod(values, part)["containers"]
    result: Manifest = found
    return result


def plain(values: dict[str, Any], part: str) -> dict[str, str]:
    """Variables with a value."""
    return {one["name"]: one["value"] for one in container(values, part)["env"] if "value" in one}


def secret_keys(values: dict[str, Any], part: str) -> dict[str, Manifest]:
    """Variables from a Secret."""
    return {
        one["name"]: one["valueFrom"]["secretKeyRef"]
        for one in container(values, part)["env"]
        if "valueFrom" in one
    }


def settings_of(values: dict[str, Any], part: str, **secrets: str) -> Settings:
    """The settings that a process starts with; secrets that are not given are made up."""
    given = dict.fromkeys(secret_keys(values, part), "made-up")
    given["METAAGENT_DATABASE_URL"] = "postgresql://bot@db.example.com/metaagent"
    given["METAAGENT_MODEL_KEYS"] = "api.example.com=made-up"
    given["METAAGENT_SANDBOX__UPSTREAM_PROXY"] = "http://proxy.example.com:3128"
    given |= secrets
    own = plain(values, part)
    assert not set(own) & set(given), "a variable has one source"
    every = IMAGE | given | own
    names = {leaf.variable for leaf in leaves()}
    assert {name for name in every if name.startswith("METAAGENT_")} <= names
    return load(environment=every)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_every_object_is_valid(values: dict[str, Any], version: str) -> None:
    found = render(values)
    for one in found:
        names = [f"{one['kind']}/{one['metadata']['name']}" for one in found]
        assert len(names) == len(set(names))
        if one["kind"] != "ServiceMonitor":  # of Prometheus' operator, not of Kubernetes
            kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_helm_finds_no_fault(values: dict[str, Any]) -> None:
    report = helm_python.lint(CHART, values, strict=True)
    assert report["errors"] == []
    assert [one["error"] for one in report["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_every_process_starts_a_command_with_known_settings(values: dict[str, Any]) -> None:
    for part in ("web", "worker"):
        words = container(values, part)["args"]
        assert build_parser(words).parse_args(words).command_name == part
        settings = settings_of(values, part)
        assert (settings.host, settings.port, str(settings.data_dir)) == (
            "0.0.0.0",  # noqa: S104 -- in a container
            8080,
            "/data/metaagent",
        )
        assert (settings.app_id, settings.app_slug) == ("12345", "your-app")
    assert settings_of(FULL, "worker").workers == 4
    assert settings_of(FULL, "web").public_url == "https://bot.example.com"


@pytest.mark.slow
@pytest.mark.anyio
async def test_the_processes_start_with_what_the_chart_gives_them(
    postgres: Server, tmp_path: Path
) -> None:
    secrets = {
        "METAAGENT_DATABASE_URL": postgres.new_database(),
        "METAAGENT_PRIVATE_KEY": new_private_key(),
    }
    processes = []
    for part in ("web", "worker"):
        found = settings_of(LEAST, part, **secrets)
        # Volumes of this machine, and no GitHub.
        store = found.storage.model_copy(update={"url": f"file://{tmp_path}/blobs/metaagent"})
        changed = {"storage": store, "data_dir": tmp_path / part / "metaagent", "sweep_s": 0}
        processes.append(found.model_copy(update=changed))
    web, worker = processes
    app = create_app(web, role=Role.WEB)
    running = Service(worker, Role.WORKER)
    async with app.router.lifespan_context(app):
        await running.start()
        try:
            to = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=to, base_url="http://localhost") as http:
                ready = await http.get("/readyz")
                headers = {"authorization": "Bearer made-up"}
                queue = await http.get("/api/queue", headers=headers)
        finally:
            await running.stop()
    assert (ready.status_code, ready.json()["missing"]) == (200, [])
    assert queue.status_code == 200
    assert len(queue.json()["workers"]) == 1


def test_a_service_named_like_the_settings_changes_no_setting() -> None:
    """Kubernetes would set METAAGENT_PORT=tcp://… for a Service named metaagent."""
    names = {
        one["metadata"]["name"] for one in render(LEAST, "metaagent") if one["kind"] == "Service"
    }
    assert names == {"metaagent"}
    for part in ("web", "worker"):
        assert pod(LEAST, part)["enableServiceLinks"] is False


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_every_pod_has_the_least_rights(values: dict[str, Any]) -> None:
    for part in ("web", "worker"):
        found = pod(values, part)
        assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(found)
        assert found["automountServiceAccountToken"] is False
        security = found["securityContext"]
        assert (security["runAsNonRoot"], security["runAsUser"]) == (True, 65532)
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container(values, part)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        resources = container(values, part)["resources"]
        assert set(resources["requests"]) == {"cpu", "memory"}
        assert "memory" in resources["limits"]


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_only_the_worker_reaches_docker(values: dict[str, Any]) -> None:
    web, worker = pod(values, "web"), pod(values, "worker")
    assert not [one for one in web["volumes"] if "hostPath" in one or "secret" in one]
    assert "supplementalGroups" not in web["securityContext"]
    assert not [name for name in plain(values, "web") if name.startswith("DOCKER")]
    paths = {one["hostPath"]["path"]: one for one in worker["volumes"] if "hostPath" in one}
    settings = settings_of(values, "worker")
    if "docker" in values:
        assert (paths, settings.sandbox.egress_folder) == ({}, None)
        assert plain(values, "worker")["DOCKER_TLS_VERIFY"] == "1"
        assert "supplementalGroups" not in worker["securityContext"]
        return
    folder = settings.sandbox.egress_folder
    assert set(paths) == {"/var/run/docker.sock", folder}
    mounts = {one["name"]: one["mountPath"] for one in container(values, "worker")["volumeMounts"]}
    for path, one in paths.items():
        assert mounts[one["name"]] == path, "Docker must see the folder under the same path"
    assert worker["securityContext"]["supplementalGroups"] == [999]


@pytest.mark.parametrize("values", ALL.values(), ids=ALL)
def test_what_is_written_is_in_a_volume_that_exists(values: dict[str, Any]) -> None:
    found = kinds(values)
    for part in ("web", "worker"):
        mounts = {one["mountPath"]: one["name"] for one in container(values, part)["volumeMounts"]}
        volumes = {one["name"]: one for one in pod(values, part)["volumes"]}
        assert set(mounts.values()) == set(volumes)
        assert {"/data", "/tmp"} <= set(mounts)
        url = settings_of(values, part).storage.url
        assert url is not None, "all processes share a store"
        if url.startswith("file://"):
            claim = volumes[mounts["/" + url.removeprefix("file:///").partition("/")[0]]]
            name = claim["persistentVolumeClaim"]["claimName"]
            made = found.get("PersistentVolumeClaim", {"metadata": {"name": "mine"}})
            assert name == made["metadata"]["name"]
        else:
            assert "PersistentVolumeClaim" not in found


def test_secrets_come_from_secrets_and_each_process_gets_its_own() -> None:
    secrets = {leaf.variable for leaf in leaves() if leaf.is_secret}
    given = {part: secret_keys(FULL, part) for part in ("web", "worker")}
    assert set(given["web"]) | set(given["worker"]) == secrets | {"METAAGENT_DATABASE_URL"}
    assert given["web"]["METAAGENT_DATABASE_URL"] == {"name": "postgres", "key": "uri"}
    for name, one in {**given["web"], **given["worker"]}.items():
        if name != "METAAGENT_DATABASE_URL":
            assert (one["name"], one["key"]) == ("keys", name)
    strangers = {name for name in given["worker"] if "WEBHOOK" in name or "DASHBOARD" in name}
    assert not strangers, "a worker opens no port"
    models = {name for name in given["web"] if "MODEL" in name or "API_KEY" in name}
    assert not models, "missions ask models"
    for name in given["web"] | given["worker"]:
        if name in {"METAAGENT_PRIVATE_KEY", "METAAGENT_WEBHOOK_SECRET"}:
            assert given["web"][name]["optional"] is False
    for values in ALL.values():
        for one in render(values):
            assert one["kind"] != "Secret"


def test_probes_ask_what_the_process_answers_and_a_worker_has_none() -> None:
    async def no_lack() -> tuple[str, ...]:
        return ()

    routes = health_router(lambda: True, no_lack).routes
    paths = {one.path for one in routes if isinstance(one, APIRoute)}
    web = container(LEAST, "web")
    asked = {
        web[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")
    }
    assert asked == paths
    assert web["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert web["ports"] == [{"name": "http", "containerPort": 8080}]
    worker = container(LEAST, "worker")
    assert not [key for key in worker if key.endswith("Probe") or key == "ports"]


def test_the_way_in_leads_to_the_web_pods_only() -> None:
    found = kinds(FULL)
    selector = found["Service"]["spec"]["selector"]
    web, worker = (
        found[part]["spec"]["template"]["metadata"]["labels"] for part in ("web", "worker")
    )
    assert selector.items() <= web.items()
    assert not selector.items() <= worker.items()
    for part in ("web", "worker"):
        labels = found[part]["spec"]["template"]["metadata"]["labels"]
        assert found[part]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    rule = found["Ingress"]["spec"]["rules"][0]
    paths = [one["path"] for one in rule["http"]["paths"]]
    assert paths == ["/webhook", BASE, API, "/badge"]
    assert {one["backend"]["service"]["name"] for one in rule["http"]["paths"]} == {
        found["Service"]["metadata"]["name"]
    }
    monitor = found["ServiceMonitor"]["spec"]
    assert (
        monitor["selector"]["matchLabels"].items() <= found["Service"]["metadata"]["labels"].items()
    )
    assert monitor["endpoints"][0]["authorization"]["credentials"]["name"] == "keys"
    closed = FULL | {"ingress": FULL["ingress"] | {"dashboard": False}}
    rule = kinds(closed)["Ingress"]["spec"]["rules"][0]
    assert [one["path"] for one in rule["http"]["paths"]] == ["/webhook"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"secret": ""},
        {"app": {"id": "x", "slug": "your-app"}},
        {"sekret": "keys"},
        {"image": {"tags": "v1"}},
        {"env": {"METAAGENT_WORKERS": 3}},
        {"env": {"METAAGENT_PORT": "9090"}},
        {"env": {"AWS_SECRET_ACCESS_KEY": "x"}},
        {"publicUrl": "http://bot.example.com"},
        {"storage": {"url": "s3://key:secret@blobs/production"}},
        {"docker": {"host": "tcp://docker.example.com:2376"}},
        {"docker": {"host": "unix:///var/run/docker.sock", "tlsSecret": "tls"}},
        {"ingress": {"enabled": True, "host": "bot.example.com"}},
        *({"web": {"env": {leaf.variable: "x"}}} for leaf in leaves() if leaf.is_secret),
    ],
    ids=str,
)
def test_wrong_values_and_secrets_among_them_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(helm_python.HelmError):
        render(LEAST | wrong)


def test_the_version_is_that_of_the_code() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    assert chart["kubeVersion"] == f">={VERSIONS[0]}.0-0"
    assert container(LEAST, "web")["image"] == f"metaagent:{__version__}"


def test_the_notes_name_what_is_there() -> None:
    for values in ALL.values():
        with helm_python.Chart.load(CHART) as chart:
            notes = chart.render(values, name="bot", namespace="ci")[
                "metaagent/templates/NOTES.txt"
            ]
        names = {one["metadata"]["name"] for one in render(values)}
        named = set(re.findall(r"(?:deployment|service)/([a-z-]+)", notes))
        assert named <= names
        assert "bot-metaagent-worker" in named
        assert "kubectl --namespace ci" in notes


def test_the_guide_has_valid_values_and_explains_all_of_them() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    for part in ("web", "worker"):
        assert settings_of(yaml.safe_load(example), part).storage.region == "eu-central-1"
    for name in yaml.safe_load((CHART / "values.yaml").read_text()):
        assert f"`{name}" in GUIDE, name
    for key in re.findall(r"--from-(?:literal|file)=([A-Z_]+)=", GUIDE):
        assert key in {leaf.variable for leaf in leaves()}
