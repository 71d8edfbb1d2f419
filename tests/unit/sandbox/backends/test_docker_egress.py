"""Who a set-up sandbox may reach, out of the settings, the installer and the index; no daemon is asked."""

import asyncio
import json
from pathlib import Path

import pytest

from sandbox.backends.docker_egress import WaysOut, relay_prefix
from sandbox.egress.allowed import AllowList
from sandbox.errors import HostGone, SandboxDied, SandboxError, SandboxUnavailable, SetupFailed
from sandbox.spec import SandboxSpec
from tests.web_site import WebSite, serving

pytestmark = pytest.mark.anyio

PAGE = json.dumps(
    {"files": [{"url": "https://files.example/a.whl"}, {"url": "https://files2.example/b.whl"}]}
).encode()
KIND = "application/vnd.pypi.simple.v1+json"


class Installer:
    """Says which index it asks."""

    def __init__(self, index: str | None, error: SandboxError | None = None) -> None:
        self.index = index
        self.error = error
        self.asked = 0

    async def __call__(self) -> str | None:
        self.asked += 1
        if self.error is not None:
            raise self.error
        return self.index


def sockets(folder: Path, pattern: str = "egress/*/in/*") -> list[str]:
    return [path.name for path in folder.glob(pattern)]


def listed(found: AllowList) -> set[str]:
    return set(str(found).split(", ")) - {""}


async def test_without_a_setting_the_installer_is_asked_once(tmp_path: Path) -> None:
    async with serving(WebSite({"/simple/pip/": (KIND, PAGE)})) as site:
        installer = Installer(f"http://127.0.0.1:{site.port}/simple")
        ways = WaysOut(SandboxSpec(egress_hosts=("more.example:8443",)), tmp_path, installer)
        own = {f"127.0.0.1:{site.port}", "more.example:8443"}
        assert listed(await ways.allowed()) == own | {"files.example:443", "files2.example:443"}
        assert listed(await ways.allowed()) >= own
    assert (installer.asked, len(site.asked)) == (1, 1)
    found = (await ways.allowed()).find("127.0.0.1", site.port)
    assert found is not None
    assert not found.own, "only what the operator named may be private"


async def test_with_a_setting_it_is_not_and_the_index_may_be_private(tmp_path: Path) -> None:
    async with serving(WebSite({"/simple/pip/": (KIND, PAGE)})) as site:
        installer = Installer(None)
        spec = SandboxSpec(
            index_url=f"http://127.0.0.1:{site.port}/simple/",
            python_mirror="https://pythons.example/download",
            python_downloads_json="http://pythons.example:8080/list.json",
        )
        found = await WaysOut(spec, tmp_path, installer).allowed()
    assert installer.asked == 0
    index = found.find("127.0.0.1", site.port)
    assert index is not None
    assert index.own
    assert {"files.example:443", "pythons.example:443", "pythons.example:8080"} <= listed(found)


@pytest.mark.parametrize(
    "error", [HostGone("Docker went away."), SandboxDied("The sandbox went away.")]
)
async def test_a_daemon_that_goes_away_is_no_empty_list_and_no_fault_of_what_is_set_up(
    error: SandboxError, tmp_path: Path
) -> None:
    installer = Installer(None, error)
    ways = WaysOut(SandboxSpec(), tmp_path, installer)
    for _ in range(2):
        with pytest.raises(type(error)):
            await ways.allowed()
    assert installer.asked == 2, "nothing is remembered"
    with pytest.raises(type(error)):
        await fail_for_want_of_it(ways)
    assert installer.asked == 3, "once for a set-up"
    with pytest.raises(SetupFailed, match="itself"):
        async with ways.open():
            raise SetupFailed("It failed by itself.")


async def fail_for_want_of_it(ways: WaysOut) -> None:
    async with ways.open() as way:
        for _ in range(2):
            assert b"403" in await asked_for(f"{way.folder}/proxy.sock")
        raise SetupFailed("pip failed.")


async def asked_for(socket: str) -> bytes:
    reader, writer = await asyncio.open_unix_connection(socket)
    writer.write(b"CONNECT pypi.example:443 HTTP/1.1\r\nHost: pypi.example:443\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    "installer",
    [Installer(None), Installer("file:///srv"), Installer(None, SandboxUnavailable("no image"))],
)
async def test_an_index_that_is_not_known_leaves_what_the_operator_named(
    installer: Installer, tmp_path: Path
) -> None:
    ways = WaysOut(SandboxSpec(egress_hosts=("more.example",)), tmp_path, installer)
    assert listed(await ways.allowed()) == {"more.example:443"}


@pytest.mark.parametrize(
    "spec",
    [
        SandboxSpec(egress_hosts=("no host",)),
        SandboxSpec.model_validate({"upstream_proxy": "socks5://proxy.example:1080"}),
        SandboxSpec(egress_folder="/proc/none"),
    ],
)
async def test_a_wrong_setting_is_told_before_anything_starts(
    spec: SandboxSpec, tmp_path: Path
) -> None:
    with pytest.raises(SandboxUnavailable) as refused:
        async with WaysOut(spec, tmp_path, Installer(None)).open():
            pass
    assert "sandbox." in refused.value.advice


async def test_a_way_takes_further_hosts_and_is_closed_with_its_folder(tmp_path: Path) -> None:
    ways = WaysOut(SandboxSpec(), tmp_path, Installer(None))
    async with ways.open() as way:
        assert sockets(tmp_path) == ["proxy.sock"]
        await way.allow(["files.example:443", "[fd00::1]:8443"])
        for wrong in ("files.example", "http://files.example/", "ftp://files.example/", ""):
            with pytest.raises(SandboxError, match="is not a TLS host"):
                await way.allow([wrong])
        assert (await way.end()).hosts == ()
    assert sockets(tmp_path, "egress/*") == []


def test_commands_are_started_through_the_relay() -> None:
    assert relay_prefix("/usr/bin/python3")[-2:] == ("/run/egress/proxy.sock", "--")
