"""Environments on a real daemon: built without network, kept within limits, made again, prepared and restored."""

import asyncio
import hashlib
import io
import json
import os
import platform
import tarfile
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from sandbox.backends.base import TREE_NOTE
from sandbox.backends.docker_container import DockerBackend
from sandbox.backends.docker_disk import ENVIRONMENT, NOTES_LABEL, Disk
from sandbox.backends.docker_hardening import connect
from sandbox.backends.docker_images import KEY_LABEL
from sandbox.backends.local_process import LocalBackend
from sandbox.backends.retention import DAY_S, LastUses, RetentionLimits
from sandbox.checkout import FolderContents as PlacedFolder
from sandbox.diffs import Original
from sandbox.errors import SetupFailed
from sandbox.snapshot import Environment, EnvironmentOrigin, Snapshotter
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import (
    ChangeAction,
    Checkout,
    FileChange,
    FolderSource,
    PythonPart,
    Recipe,
    RunVerdict,
    TrustTier,
)
from sandbox.workspace import Sandboxes
from tests.integration.package_index import download, sdist, serve, wheel, write_pages

pytestmark = [pytest.mark.anyio, pytest.mark.docker]

LIMITS = RunLimits(wall_s=60.0)
MINE = EnvironmentOrigin(repository_id="test-environments", tier=TrustTier.LOCAL)
NOSY = """
import socket, urllib.request
try:
    urllib.request.urlopen("{url}/simple/", timeout=5)
    said = "reached"
except OSError as error:
    said = "cut off"
open({where}, "w").write("SAID = %r" % said)
"""
C_SOURCE = """
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "fast_c", "", -1, methods};
PyMODINIT_FUNC PyInit_fast_c(void) { return PyModule_Create(&module); }
"""


def info(name: str, *requires: str) -> str:
    lines = "".join(f"Requires-Dist: {line}\n" for line in requires)
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{lines}"


def pyproject(name: str, build: str, backend: str) -> str:
    return (
        f'[build-system]\nrequires = ["{build}"]\nbuild-backend = "{backend}"\n'
        f'[project]\nname = "{name}"\nversion = "1.0"\ndescription = "x"\n'
    )


def publish(root: Path, url: str) -> None:
    """One source distribution for each way of building, in which the first asks who can be reached."""
    files = root / "files"
    where = "__import__('os').path.join(__import__('os').path.dirname(__file__), 'legacy.py')"
    setup = NOSY.format(url=url, where=where) + (
        "from setuptools import setup\n"
        "setup(name='legacy', version='1.0', py_modules=['legacy'], install_requires=['flitted'])\n"
    )
    egg = {"PKG-INFO": info("legacy"), "legacy.egg-info/requires.txt": "flitted\n"}
    sdist(files, "legacy", "1.0", {"setup.py": setup, **egg})
    flit = {
        "pyproject.toml": pyproject("flitted", "flit_core", "flit_core.buildapi"),
        "flitted.py": "WAY = 'flit'\n",
    }
    sdist(files, "flitted", "1.0", {"PKG-INFO": info("flitted"), **flit})
    hatch = {
        "pyproject.toml": pyproject("hatched", "hatchling", "hatchling.build"),
        "hatched/__init__.py": "WAY = 'hatch'\n",
    }
    sdist(files, "hatched", "1.0", {"PKG-INFO": info("hatched"), **hatch})
    poetry = {
        "pyproject.toml": pyproject("rhymed", "poetry-core", "poetry.core.masonry.api"),
        "rhymed/__init__.py": "WAY = 'poetry'\n",
    }
    sdist(files, "rhymed", "1.0", {"PKG-INFO": info("rhymed"), **poetry})
    extension = "from setuptools import Extension, setup\nsetup(name='fast_c', version='1.0', ext_modules=[Extension('fast_c', ['fast_c.c'])])\n"
    sdist(
        files,
        "fast_c",
        "1.0",
        {"PKG-INFO": info("fast_c"), "setup.py": extension, "fast_c.c": C_SOURCE},
    )
    odd = {"pyproject.toml": pyproject("needy", "legacy", "legacy")}
    startled = "import os; open('/opt/env/ran', 'a').write('x')\n"
    wheel(files, "startled", "1.0", {"startled.pth": startled, "startled.py": "WAY = 'wheel'\n"})
    own = {"my_own/__init__.py": "", "my_own/deep/__init__.py": "WAY = 'index'\n"}
    wheel(files, "my_own", "1.0", own)
    wheel(files, "my_own_plugin", "1.0", {"my_own_plugin.py": "WAY = 'wheel'\n"})
    sdist(files, "needy", "1.0", {"PKG-INFO": info("needy"), **odd})


@pytest.fixture(scope="module")
def index(docker_ready: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An index with source distributions and what builds them."""
    root = tmp_path_factory.mktemp("index")
    download(root / "files", "setuptools", "wheel", "flit_core", "hatchling", "poetry-core")
    with serve(root) as url:
        publish(root, url)
        write_pages(root)
        yield f"{url}/simple"


@pytest.fixture
async def made() -> AsyncIterator[list[str]]:
    """Images to be removed in the end."""
    images: list[str] = []
    yield images
    client = connect()
    for image in images:
        client.images.remove(image, force=True)
    client.close()


async def say(backend: DockerBackend, environment: Environment, script: str) -> str:
    async with backend.open(environment.image) as guest:
        done = await guest.run((guest.python, "-c", script), limits=LIMITS)
    assert done.ok, done.stderr
    return done.stdout.strip()


async def test_nothing_that_a_wheel_brings_runs_before_an_environment_is_kept_for_everybody(
    index: str, made: list[str]
) -> None:
    spec = SandboxSpec(pool=0, index_url=index)
    backend = DockerBackend(spec)
    recipe = Recipe(command="x", parts=(PythonPart(requirements=("startled",)),))
    kept = await Snapshotter(backend, spec).ensure(
        recipe, MINE, files={"site/mine.py": "WAY = 'placed'\n"}
    )
    made.append(kept.image)
    async with backend.open(kept.image) as guest:
        ran = await guest.run(
            ("/bin/sh", "-c", "ls /opt/env; find /opt/env -name '*.pyc'"), limits=LIMITS
        )
    assert "ran" not in ran.stdout.split()
    assert {"startled.cpython-311.pyc", "mine.cpython-311.pyc"} <= {
        name.rpartition("/")[2] for name in ran.stdout.split()
    }
    assert (
        await say(backend, kept, "import mine, startled; print(mine.WAY, startled.WAY)")
        == "placed wheel"
    )


async def test_a_release_of_the_checkouts_own_project_is_removed_and_nothing_else(
    index: str, made: list[str]
) -> None:
    spec = SandboxSpec(pool=0, index_url=index)
    backend = DockerBackend(spec)
    recipe = Recipe(
        command="x", parts=(PythonPart(requirements=("My.Own==1.0", "my_own_plugin==1.0")),)
    )
    kept = await Snapshotter(backend, spec).ensure(
        recipe,
        MINE,
        files={
            "site/checkout.pth": "/tmp/src\n",
            "site/my_own-2.0.dist-info/METADATA": info("my-own").replace("1.0", "2.0"),
        },
    )
    made.append(kept.image)
    script = """
import importlib.metadata, importlib.util, my_own_plugin
print(importlib.metadata.version("my-own"), importlib.util.find_spec("my_own"), my_own_plugin.WAY)
"""
    assert await say(backend, kept, script) == "2.0 None wheel"


@pytest.mark.slow
async def test_what_has_no_wheel_is_built_with_nothing_to_be_reached(
    index: str, made: list[str]
) -> None:
    spec = SandboxSpec(pool=0, index_url=index)
    backend = DockerBackend(spec)
    recipe = Recipe(
        command="x",
        parts=(
            PythonPart(
                requirements=("legacy", "hatched", "rhymed", "fast_c"),
                constraints=("hatched<2",),
            ),
        ),
    )
    cold = await Snapshotter(backend, spec).ensure(recipe, MINE)
    made.append(cold.image)
    script = "import legacy, flitted, hatched, rhymed, fast_c; print(legacy.SAID, flitted.WAY, hatched.WAY, rhymed.WAY, fast_c.answer())"
    assert await say(backend, cold, script) == "cut off flit hatch poetry 42"
    assert (
        "fast-c==1.0, flitted==1.0, hatched==1.0, legacy==1.0, rhymed==1.0" in cold.notes[0].reason
    )
    assert any(index.split("/")[2] in host for host in cold.egress.hosts)
    lines = "".join(
        f"{name}==1.0\n" for name in ("fast-c", "flitted", "hatched", "legacy", "rhymed")
    )
    assert cold.lock_hash == hashlib.sha256(lines.encode()).hexdigest()
    warm = await Snapshotter(DockerBackend(spec), spec).ensure(recipe, MINE)
    assert (warm.warm, warm.lock_hash, warm.egress, warm.notes) == (
        True,
        cold.lock_hash,
        cold.egress,
        cold.notes,
    )


@pytest.mark.slow
async def test_what_cannot_be_built_is_named(index: str) -> None:
    spec = SandboxSpec(pool=0, index_url=index)
    snapshotter = Snapshotter(DockerBackend(spec), spec)
    with pytest.raises(
        SetupFailed,
        match="could not install needy: its build requirements: not available as wheels",
    ):
        await snapshotter.ensure(
            Recipe(command="x", parts=(PythonPart(requirements=("needy",)),)), MINE
        )
    with pytest.raises(SetupFailed, match="could not install the requirements"):
        await snapshotter.ensure(
            Recipe(command="x", parts=(PythonPart(requirements=("hatched>=9",)),)), MINE
        )


async def test_only_environments_of_ours_that_nobody_uses_are_removed(
    docker_ready: None, made: list[str], tmp_path: Path
) -> None:
    backend = DockerBackend(SandboxSpec(pool=0))
    toolchain = await backend.ensure_toolchain()
    client = connect()
    mark = uuid.uuid4().hex[:12]
    uses = LastUses(tmp_path / "uses")

    def keep(name: str, days: float, **notes: str) -> str:
        """An image as a set-up leaves it, last used so long ago."""
        container = client.containers.create(toolchain, ["/bin/true"], network_mode="none")
        repository, _, tag = name.partition(":")
        labels = {KEY_LABEL: tag, NOTES_LABEL: json.dumps(notes)}
        container.commit(repository=repository, tag=tag, conf={"Labels": labels})
        container.remove()
        made.append(name)
        uses.touch(name)
        os.utime(uses._file(name), (uses.now() - days * DAY_S,) * 2)
        return name

    old, used = keep(f"{ENVIRONMENT}:{mark}-old", 20), keep(f"{ENVIRONMENT}:{mark}-used", 20)
    foreign, new = keep(f"somebody-{mark}:1", 20), keep(f"{ENVIRONMENT}:{mark}-new", 1)
    tree, alike = (
        keep(f"{ENVIRONMENT}:{mark}-tree", 3, **{TREE_NOTE: mark}),
        keep(f"{ENVIRONMENT}:{mark}-alike", 3),
    )
    busy = client.containers.create(used, ["/bin/true"], network_mode="none")
    try:
        before = {tag for image in client.images.list() for tag in image.tags}
        # What is there besides is given a use of now: the other sandboxes of this machine are not for this test.
        for tag in before - {old, used, foreign, new, tree, alike}:
            uses.touch(tag)
        Disk(client, uses, RetentionLimits(size=1 << 50, days=14)).prune((toolchain,))
        after = {tag for image in client.images.list() for tag in image.tags}
        assert before - after == {old, tree}, (
            "one that serves a single tree is kept for a shorter time"
        )
        Disk(client, uses, RetentionLimits(size=0, days=14)).prune((toolchain,))
        assert after - {tag for image in client.images.list() for tag in image.tags} == {new, alike}
    finally:
        busy.remove()
        made[:] = [used, foreign]
        client.close()


async def test_an_image_whose_configuration_was_changed_is_not_used(
    docker_ready: None, made: list[str]
) -> None:
    backend = DockerBackend(SandboxSpec(pool=0))
    toolchain = await backend.ensure_toolchain()
    key = f"tampered-{uuid.uuid4().hex[:8]}"
    async with backend.open_setup(toolchain) as setup:
        made.append(await backend.keep_environment(setup, key, notes={"record": "{}"}))
    assert await backend.find_environment(key) == made[0]
    client = connect()
    container = client.containers.create(made[0], ["/bin/true"], network_mode="none")
    config = {
        "User": "65532:65532",
        "Env": ["LD_PRELOAD=/opt/env/x.so"],
        "Entrypoint": ["/opt/env/x"],
    }
    container.commit(repository=ENVIRONMENT, tag=key, conf=config)
    container.remove()
    client.close()
    assert await backend.find_environment(key) is None


PREPARED = Recipe(
    command="python -m pytest -q",
    parts=(PythonPart(requirements=("pytest",)),),
    prepare=(
        "date +%s%N > made.txt && mkdir -p gen/empty && echo 'X = 1' > gen/m.py && ln -s m.py gen/link.py",
        "rm old.txt && echo changed >> kept.txt && git init -q nested && echo x > nested/file",
    ),
)


@pytest.fixture
async def sandboxes(docker_ready: None, tmp_path: Path) -> AsyncIterator[Sandboxes]:
    found = Sandboxes(SandboxSpec(pool=0), DockerBackend(SandboxSpec(pool=0)), tmp_path / "data")
    yield found
    await found.close()


def a_project(folder: Path) -> FolderSource:
    files = {
        "old.txt": "old",
        "kept.txt": "kept\n",
        "test_m.py": "def test_x():\n    from gen import m\n    assert m.X == 1\n",
    }
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "link").symlink_to("old.txt")
    return FolderSource(path=str(folder), repository_id=f"prepared-{uuid.uuid4().hex[:8]}")


@pytest.mark.slow
async def test_what_earlier_steps_made_belongs_to_the_baseline(
    sandboxes: Sandboxes, tmp_path: Path
) -> None:
    checkout = Checkout(
        source=a_project(tmp_path / "project"), recipe=PREPARED, tier=TrustTier.LOCAL
    )
    state = "find . -path ./.git -prune -o -type f -printf '%p %m %s %T@\\n' -o -printf '%p %y %l\\n' | sort; cat made.txt kept.txt"
    async with sandboxes.open_workspace(checkout) as workspace:
        facts = await workspace.facts()
        assert ("import the folder", "dropped") in [
            (note.step, note.treatment) for note in facts.recipe.fidelity
        ]
        assert len(facts.lock_hash) == 64
        assert (await workspace.changes(), await workspace.diff()) == ((), "")
        before = (await workspace.run(state)).stdout
        assert "gen/empty d" in before
        assert "old.txt" not in before
        assert (await workspace.run_tests()).verdict is RunVerdict.PASS
        await workspace.run(
            "rm -rf gen nested made.txt; echo no > old.txt; echo no > kept.txt; touch new"
        )
        await workspace.revert()
        assert await workspace.changes() == ()
        assert (await workspace.run(state)).stdout == before
        assert "old.txt" not in await workspace.list_files()


@pytest.mark.slow
async def test_what_cannot_be_remembered_is_made_again(
    sandboxes: Sandboxes, tmp_path: Path
) -> None:
    recipe = PREPARED.with_(prepare=("mkdir gen && echo 'X = 1' > gen/m.py",))
    checkout = Checkout(source=a_project(tmp_path / "project"), recipe=recipe, tier=TrustTier.LOCAL)
    async with sandboxes.open_workspace(checkout) as workspace:
        await workspace.run("rm -f ../@prepared*; rm -rf .git; echo no > gen/m.py")
        await workspace.revert()
        assert await workspace.changes() == ()
        assert await workspace.read_file("gen/m.py") == "X = 1\n"


@pytest.mark.slow
async def test_what_a_build_makes_is_built_again_after_an_edit(
    sandboxes: Sandboxes, tmp_path: Path
) -> None:
    recipe = PREPARED.with_(prepare=("mkdir gen", "echo built >> builds.txt", "python build.py"))
    source = a_project(tmp_path / "project")
    (tmp_path / "project/x.in").write_text("2")
    (tmp_path / "project/build.py").write_text(
        "X = int(open('x.in').read())\nopen('gen/m.py', 'w').write(f'X = {X}')\n"
    )
    checkout = Checkout(source=source, recipe=recipe, tier=TrustTier.LOCAL)

    def write(content: str) -> FileChange:
        return FileChange(action=ChangeAction.REPLACE, path="x.in", content=content)

    async with sandboxes.open_workspace(checkout) as workspace:
        assert (await workspace.run_tests()).verdict is RunVerdict.FAIL
        await workspace.apply_changes((write("1"),))
        assert (await workspace.run_tests()).verdict is RunVerdict.PASS
        assert await workspace.read_file("builds.txt") == "built\n"
        await workspace.apply_changes((write("one"),))
        red = await workspace.run_tests(targets=("test_m.py::test_x",))
        assert (red.verdict, red.ended_at) == (RunVerdict.FAIL, "python build.py")
        assert "invalid literal" in red.raw_output
        assert (await workspace.run_tests()).verdict is RunVerdict.FAIL
        await workspace.revert()
        assert await workspace.changes() == ()
        assert (await workspace.run_tests()).ended_at == ""


@pytest.mark.slow
async def test_an_earlier_build_counts_after_an_edit_only_if_it_passed_before(
    sandboxes: Sandboxes, tmp_path: Path
) -> None:
    passing, failing = "grep -q '' kept.txt", "echo half > half.txt && getent hosts example.com"
    recipe = PREPARED.with_(
        prepare=("mkdir gen && echo 'X = 1' > gen/m.py", passing, failing),
        may_fail=(passing, failing),
    )
    checkout = Checkout(source=a_project(tmp_path / "project"), recipe=recipe, tier=TrustTier.LOCAL)
    async with sandboxes.open_workspace(checkout) as workspace:
        assert (await workspace.facts()).recipe.may_fail == (passing,)
        await workspace.run("echo more >> old.txt")
        assert (await workspace.run_tests()).verdict is RunVerdict.PASS
        await workspace.run("truncate -s 0 kept.txt")
        red = await workspace.run_tests()
        assert (red.verdict, red.ended_at) == (RunVerdict.FAIL, passing)


async def test_an_earlier_step_that_fails_is_named(sandboxes: Sandboxes, tmp_path: Path) -> None:
    recipe = PREPARED.with_(prepare=("true", "echo no luck && exit 3"))
    checkout = Checkout(source=a_project(tmp_path / "project"), recipe=recipe, tier=TrustTier.LOCAL)
    async with sandboxes.open_workspace(checkout) as workspace:
        with pytest.raises(SetupFailed, match="failed: echo no luck && exit 3") as caught:
            await workspace.facts()
    assert "no luck" in caught.value.log


@pytest.mark.slow
async def test_an_environment_that_vanishes_before_it_is_opened_is_made_again(
    docker_ready: None, tmp_path: Path
) -> None:
    class Vanishing(DockerBackend):
        """Somebody removes the image between finding and opening it, once."""

        vanished = 0

        @override
        async def find_environment(self, key: str) -> str | None:
            image = await super().find_environment(key)
            if image is not None and not self.vanished:
                self.vanished += 1
                client = connect()
                client.images.remove(image, force=True)
                client.close()
            return image

    spec = SandboxSpec(pool=0)
    recipe = Recipe(
        command="python -c pass",
        parts=(
            PythonPart(requirements=("iniconfig",), constraints=(f"iniconfig!=0.{os.getpid()}",)),
        ),
    )
    checkout = Checkout(source=a_project(tmp_path / "project"), recipe=recipe, tier=TrustTier.LOCAL)
    first = Sandboxes(spec, DockerBackend(spec), tmp_path / "data")
    async with first.open_workspace(checkout) as workspace:
        image = (await workspace.facts()).image
    await first.close()
    backend = Vanishing(spec)
    second = Sandboxes(spec, backend, tmp_path / "data")
    try:
        async with second.open_workspace(checkout) as workspace:
            facts = await workspace.facts()
            assert (await workspace.run("python -c 'import iniconfig'")).ok
        assert (backend.vanished, facts.image, facts.warm) == (1, image, False)
    finally:
        await second.close()
        client = connect()
        client.images.remove(image, force=True)
        client.close()


@pytest.mark.slow
async def test_set_up_commands_on_this_host_stand_on_an_environment_of_their_own() -> None:
    # Other users may enter this folder, unlike pytest's own.
    with tempfile.TemporaryDirectory(prefix="metaagent-local-") as name:
        folder = Path(name)
        await asyncio.to_thread(folder.chmod, 0o755)
        spec = SandboxSpec(backend="local", local_uid=65_533)
        backend = LocalBackend(spec, cache=folder)
        recipe = Recipe(
            command="x",
            parts=(PythonPart(requirements=("iniconfig", "pytest")),),
            setup=('echo "x = 42" > "$VIRTUAL_ENV/made.py"',),
        )

        snapshotter = Snapshotter(backend, spec)
        checkout = PlacedFolder.of({"x": Original(content=b"x", mode="100644")})
        found = await snapshotter.ensure(recipe, MINE, checkout=checkout)
        below = await snapshotter.ensure(recipe.with_(setup=()), MINE)
        assert below.warm
        assert below.image != found.image
        assert below.lock_hash == found.lock_hash != ""
        async with backend.open(found.image) as guest:
            script = 'pytest --version && head -1 "$(command -v pytest)" && cat "$(dirname "$(command -v pytest)")/../made.py"'
            env = {"PATH": f"{Path(guest.python).parent}:/usr/bin:/bin"}
            done = await guest.run(("/bin/sh", "-c", script), limits=LIMITS, env=env)
        assert done.ok, done.stderr
        assert found.image.removeprefix("local-env:") in done.stdout
        assert below.image.removeprefix("local-env:") not in done.stdout
        assert "x = 42" in done.stdout


@pytest.mark.slow
async def test_a_python_is_fetched_from_the_operators_mirror(
    docker_ready: None, tmp_path: Path, made: list[str]
) -> None:
    archive = a_standalone_python(tmp_path)
    with serve(tmp_path) as url:
        machine = platform.machine()
        entry: dict[str, Any] = {
            "name": "cpython",
            "arch": {"family": machine, "variant": None},
            "os": "linux",
            "libc": "gnu",
        }
        entry |= {
            "major": 3,
            "minor": 10,
            "patch": 99,
            "prerelease": "",
            "variant": None,
            "build": "1",
        }
        entry |= {
            "url": f"{url}/{archive.name}",
            "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        }
        (tmp_path / "list.json").write_text(
            json.dumps({f"cpython-3.10.99-linux-{machine}-gnu": entry})
        )
        spec = SandboxSpec(pool=0, python_downloads_json=f"{url}/list.json")
        backend = DockerBackend(spec)
        found = await Snapshotter(backend, spec).ensure(
            Recipe(command="x", parts=(PythonPart(version="3.10"),)), MINE
        )
    made.append(found.image)
    assert (await say(backend, found, "import sys, ssl; print(sys.version_info[:2])")) == "(3, 10)"
    # From here on the mirror is gone: what it gave is kept for all environments.
    more = await Snapshotter(backend, spec).ensure(
        Recipe(command="x", parts=(PythonPart(version="3.10", requirements=("iniconfig",)),)), MINE
    )
    made.insert(0, more.image)
    assert (
        await say(backend, more, "import sys, iniconfig; print(sys.version_info[:2])")
    ) == "(3, 10)"
    assert set(found.egress.hosts) < set(more.egress.hosts)
    plain = await Snapshotter(backend, spec).ensure(Recipe(command="x"), MINE)
    other = await Snapshotter(backend, spec).ensure(
        Recipe(command="x", parts=(PythonPart(version="3.9"),)), MINE
    )
    assert plain.key == other.key != found.key


def a_standalone_python(folder: Path) -> Path:
    """An interpreter of this machine as an archive that can stand anywhere."""
    sources = sorted(Path.home().glob(".pyenv/versions/3.10.*"))
    if not sources:
        pytest.skip("this machine has no Python 3.10 to make an archive of")
    source, archive = sources[-1], folder / "cpython-3.10.tar.gz"
    program = (source / "bin/python3.10").read_bytes()
    library = f"{source}/lib".encode() + b"\0"
    moved = program.replace(library, b"$ORIGIN/../lib".ljust(len(library), b"\0"))

    def chosen(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        left_out = (
            "/site-packages/",
            "/test/",
            "/tests/",
            "__pycache__",
            "/idlelib/",
            "/lib2to3/",
            "/tkinter/",
            "/ensurepip/",
            "/config-",
            "/share/",
            "bin/python3.10",
        )
        return (
            None
            if any(part in member.name for part in left_out) or member.name.endswith(".a")
            else member
        )

    with tarfile.open(archive, "w:gz", compresslevel=1) as tar:
        tar.add(source, "python", filter=chosen)
        entry = tarfile.TarInfo("python/bin/python3.10")
        entry.size, entry.mode = len(moved), 0o755
        tar.addfile(entry, io.BytesIO(moved))
    return archive
