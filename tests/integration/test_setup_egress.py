"""Set-up on a real daemon: no interface, an installer that works all the same, and nothing else that can be reached."""

import asyncio
import io
import json
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sandbox.backends.base import Guest
from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.docker_egress import WayOut, require_way_out
from sandbox.backends.docker_hardening import connect
from sandbox.backends.owners import MARK, owner
from sandbox.egress.allowed import AllowList, Endpoint
from sandbox.egress.index import IndexAccess
from sandbox.egress.outward import Outward
from sandbox.egress.proxy import EgressLimits, EgressProxy
from sandbox.errors import SandboxUnavailable
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import CommandResult
from tests.web_site import Trust, WebSite, make_trust, serving

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

QUICK = RunLimits(wall_s=60.0)
PYTHON = "/usr/bin/python3"
DIAL = """
    import json, os, socket, ssl, time
    def proxied(request, server=None):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(20)
        s.connect("/run/egress/proxy.sock")
        s.sendall(request.encode())
        head = s.recv(4096).decode().split("\\r\\n")[0]
        if server is None or " 200 " not in head:
            return head
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        try:
            s = context.wrap_socket(s, server_hostname=server)
        except OSError as error:
            return "cut"
        s.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
        said = b""
        while piece := s.recv(4096):
            said += piece
        return said.decode().split("\\r\\n\\r\\n")[-1]
    def connect(where, server=None):
        return proxied("CONNECT %s HTTP/1.1\\r\\n\\r\\n" % where, server)
"""


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


@pytest.fixture(scope="module")
async def image(backend: DockerBackend) -> str:
    return await backend.ensure_toolchain()


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return make_trust(tmp_path_factory.mktemp("trust"), "localhost", "127.0.0.1")


async def python(guest: Guest, script: str) -> Any:
    """What a hostile program inside prints, as JSON."""
    program = textwrap.dedent(DIAL) + textwrap.dedent(script)
    done = await guest.run((PYTHON, "-I", "-c", program), limits=QUICK, cwd="/")
    assert done.ok, done.stderr
    return json.loads(done.stdout)


async def install(guest: Guest, requirement: str) -> CommandResult:
    env = {"UV_NO_CONFIG": "1", "UV_HTTP_RETRIES": "0"}
    made = await guest.run(
        ("uv", "venv", "--allow-existing", "/opt/env"), limits=QUICK, cwd="/", env=env
    )
    assert made.ok, made.stderr
    command = ("uv", "pip", "install", "--no-deps", "--python", "/opt/env/bin/python", requirement)
    return await guest.run(command, limits=QUICK, cwd="/", env=env)


async def test_the_installer_works_and_what_it_reached_is_known(
    backend: DockerBackend, image: str
) -> None:
    async with backend.open_setup(image) as guest:
        installed = await install(guest, "iniconfig")
        assert installed.ok, installed.stderr
        egress = await backend.end_egress(guest)
        assert egress.hosts
        assert egress.refused == ()
        assert 1000 < egress.received_bytes < 5_000_000
        refused = await install(guest, "pluggy")
        assert not refused.ok
        again = await backend.end_egress(guest)
        assert again.hosts == egress.hosts
        assert again.received_bytes == egress.received_bytes
        assert again.refused
        kept = await backend.keep_environment(guest, "egress-test-1")
    client = connect()
    try:
        config = client.images.get(kept).attrs["Config"]
        assert not {entry.partition("=")[0] for entry in config["Env"] or ()} - {"PATH"}
        assert not any(
            config.get(name) for name in ("Volumes", "Entrypoint", "OnBuild", "ExposedPorts")
        )
        async with backend.open(kept) as opened:
            seen = await opened.run(
                (
                    "/bin/sh",
                    "-c",
                    "env | grep -ci proxy; find / -name '*metaagent-ca*' 2>/dev/null; ls -A /run/egress",
                ),
                limits=QUICK,
                cwd="/",
            )
            assert seen.stdout == "0\n"
            assert (
                await opened.run((opened.python, "-c", "import iniconfig"), limits=QUICK, cwd="/")
            ).ok
    finally:
        client.images.remove(kept, force=True)
        client.close()


def wheel(name: str) -> bytes:
    """A package of one module."""
    buffer = io.BytesIO()
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": "answer = 42\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return buffer.getvalue()


async def test_a_private_index_without_tls_is_learned_from_its_list_and_used_by_whoever_knows_a_proxy(
    image: str,
) -> None:
    name = "mine-1.0-py3-none-any.whl"
    site = WebSite(
        {
            "/simple/": ("text/html", b'<a href="/simple/mine/">mine</a>'),
            "/simple/mine/": ("text/html", f'<a href="/files/{name}">{name}</a>'.encode()),
            f"/files/{name}": ("application/zip", wheel("mine")),
        }
    )
    # Another address of loopback: what is called localhost inside is the sandbox itself.
    async with serving(site, address="127.0.0.2"):
        spec = SandboxSpec(pool=0, index_url=f"http://127.0.0.2:{site.port}/simple")
        private = DockerBackend(spec)
        async with private.open_setup(image) as guest:
            installed = await install(guest, "mine")
            assert installed.ok, installed.stderr
            script = f"""
                from urllib.request import urlopen
                print(json.dumps(urlopen("http://127.0.0.2:{site.port}/simple/").read().decode()))
            """
            assert "/simple/mine/" in await python(guest, script)
            egress = await private.end_egress(guest)
        assert egress.hosts == (f"127.0.0.2:{site.port}",)
        assert egress.refused == ()


async def test_inside_there_is_no_interface_but_its_own_and_no_address_answers(
    backend: DockerBackend, image: str
) -> None:
    async with backend.open_setup(image) as guest:
        found = await python(
            guest,
            """
            def direct(where, port, kind=socket.SOCK_STREAM):
                try:
                    with socket.socket(socket.AF_INET6 if ":" in where else socket.AF_INET, kind) as s:
                        s.settimeout(5)
                        s.connect((where, port))
                        s.send(b"x")
                    return "reached"
                except OSError as error:
                    return type(error).__name__
            def resolved(name):
                try:
                    return socket.gethostbyname(name)
                except OSError:
                    return "unknown"
            places = [("203.0.113.1", 443), ("172.17.0.1", 2375), ("169.254.169.254", 80), ("8.8.8.8", 53), ("fd00:ec2::254", 80)]
            print(json.dumps({
                "interfaces": [name for _, name in socket.if_nameindex()],
                "routes": len(open("/proc/net/route").readlines()) - 1,
                "direct": sorted({direct(*place) for place in places} | {direct("8.8.8.8", 53, socket.SOCK_DGRAM)}),
                "names": sorted({resolved(name) for name in ("canary.invalid", "example.com")}),
                "score": open("/proc/self/oom_score_adj").read().strip(),
            }))
            """,
        )
    assert found == {
        "interfaces": ["lo"],
        "routes": 0,
        "direct": ["OSError"],
        "names": ["unknown"],
        "score": "900",
    }


async def test_the_proxy_is_the_only_way_and_takes_listed_hosts_only(
    backend: DockerBackend, image: str, trust: Trust
) -> None:
    site, other = WebSite({"/": ("text/plain", b"safe")}), WebSite({"/": ("text/plain", b"other")})
    async with serving(site, trust), serving(other, trust):
        spec = SandboxSpec(pool=0, egress_hosts=(f"localhost:{site.port}",))
        listed = DockerBackend(spec)
        async with listed.open_setup(image) as guest:
            found = await python(
                guest,
                f"""
                site, other = {site.port}, {other.port}
                print(json.dumps({{
                    "listed": connect("localhost:%d" % site, "localhost"),
                    "other port": connect("localhost:%d" % other, "localhost"),
                    "other name": connect("localhost:%d" % site, "canary.invalid"),
                    "by address": connect("127.0.0.1:%d" % site, "localhost"),
                    "canary": connect("canary.invalid:443"),
                    "metadata": connect("169.254.169.254:443"),
                    "plain": proxied("GET http://169.254.169.254/latest/ HTTP/1.1\\r\\n\\r\\n"),
                    "bridge": connect("172.17.0.1:443"),
                }}))
                """,
            )
            egress = await listed.end_egress(guest)
        no = "HTTP/1.1 403 Refused"
        assert found.pop("listed") == "safe"
        assert found.pop("other name") == "cut"
        assert set(found.values()) == {no}
        assert egress.hosts == (f"localhost:{site.port}",)
        assert {"169.254.169.254:443", "169.254.169.254:80", "canary.invalid:443"} <= set(
            egress.refused
        )
        assert (site.connections, other.connections) == (1, 0)


async def test_the_folder_of_the_socket_shows_nothing_and_takes_nothing(
    backend: DockerBackend, image: str
) -> None:
    async with backend.open_setup(image) as guest:
        script = "ls /run/egress; touch /run/egress/x; rm -f /run/egress/proxy.sock; mv /run/egress /tmp; cat /run/egress/../*/owner"
        tried = await guest.run(("/bin/sh", "-c", script), limits=QUICK, cwd="/")
        assert tried.stdout == ""
        assert len(tried.stderr.splitlines()) == 5
        assert (
            await python(guest, 'print(json.dumps(connect("canary.invalid:443")))')
            == "HTTP/1.1 403 Refused"
        )


async def test_a_connection_under_way_is_cut_by_the_end(
    backend: DockerBackend, image: str, trust: Trust
) -> None:
    site = WebSite({"/": ("text/plain", b"x" * (64 << 20))})
    site.pause_s = 0.1
    async with serving(site, trust):
        slow = DockerBackend(SandboxSpec(pool=0, egress_hosts=(f"localhost:{site.port}",)))
        async with slow.open_setup(image) as guest:
            script = f"""
                import sys
                s = socket.create_connection(("127.0.0.1", int(os.environ["https_proxy"].rpartition(":")[2])))
                s.sendall(b"CONNECT localhost:{site.port} HTTP/1.1\\r\\n\\r\\n")
                s.recv(4096)
                context = ssl.create_default_context()
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
                t = context.wrap_socket(s, server_hostname="localhost")
                t.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
                got = 0
                try:
                    while piece := t.recv(65536):
                        got += len(piece)
                except OSError:
                    pass
                print(json.dumps(got))
            """
            going = asyncio.ensure_future(python(guest, script))
            while not site.heads:  # noqa: ASYNC110 (a list that another task fills)
                await asyncio.sleep(0.05)
            egress = await slow.end_egress(guest)
            assert await going < 64 << 20
            assert egress.hosts == (f"localhost:{site.port}",)


async def test_on_dockers_own_network_the_end_is_the_end_of_the_network(image: str) -> None:
    bridged = DockerBackend(SandboxSpec(pool=0, setup_network="bridge"))
    count = 'print(json.dumps(len(open("/proc/net/route").readlines()) - 1))'
    async with bridged.open_setup(image) as guest:
        assert await python(guest, count) > 0
        for _ in range(2):
            await bridged.end_egress(guest)
            assert await python(guest, count) == 0


async def test_a_daemon_that_does_not_see_the_folder_is_told_with_advice(
    backend: DockerBackend, image: str, tmp_path: Path
) -> None:
    async def nothing() -> AllowList:
        return AllowList()

    async def ways_site(endpoint: Endpoint) -> IndexAccess:
        return IndexAccess()

    proxy = EgressProxy(tmp_path / "s", nothing, Outward(), EgressLimits())
    with pytest.raises(SandboxUnavailable, match="cannot mount the folder") as refused:
        await backend._start_for_setup(image, WayOut(tmp_path / "not-there", proxy, ways_site))
    assert "sandbox.egress_folder" in refused.value.advice
    async with backend.open(image) as guest:
        with pytest.raises(SandboxUnavailable, match="cannot reach its proxy"):
            await require_way_out(guest, PYTHON)
    with pytest.raises(SandboxUnavailable, match=r"proxy cannot listen|No folder"):
        async with DockerBackend(
            SandboxSpec(egress_folder=str(tmp_path / ("long" * 30)))
        ).open_setup(image):
            pass


async def test_folders_of_proxies_go_with_their_sandboxes_and_with_dead_makers(
    image: str, tmp_path: Path
) -> None:
    spec = SandboxSpec(pool=0, egress_folder=str(tmp_path / "e"))
    backend = DockerBackend(spec)
    async with backend.open_setup(image):
        (folder,) = (tmp_path / "e").iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / MARK).read_text() == owner()
    assert list((tmp_path / "e").iterdir()) == []
    namespace = owner().rpartition("/")[0].rpartition("/")[0]
    for name, maker in {
        "dead": f"{namespace}/{2**22 - 1}/1",
        "mine": owner(),
        "elsewhere": "other/1/4194303/1",
    }.items():
        (tmp_path / "e" / name).mkdir()
        (tmp_path / "e" / name / MARK).write_text(maker)
    backend.sweep()
    assert sorted(path.name for path in (tmp_path / "e").iterdir()) == ["elsewhere", "mine"]
