"""What every place of execution promises: one suite for the fake, for processes and for containers."""

import asyncio
import hashlib
import io
import json
import os
import tarfile
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from posixpath import dirname
from typing import Any

import pytest

from sandbox.backends import open_backend
from sandbox.backends.base import Backend, Guest
from sandbox.backends.local_process import LocalBackend
from sandbox.errors import ChangeRejected, SandboxDied, SandboxError
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import CHANGED, USUAL, CommandResult, FileEdit, Surroundings
from tests.fakes.fake_backend import FakeBackend, FakeGuest
from tests.patience import HANG_S

Opened = tuple[Backend, str, Guest]

pytestmark = pytest.mark.anyio

UID = 65_532
QUICK = RunLimits(wall_s=120.0)
REAL = ["local", pytest.param("docker", marks=pytest.mark.docker)]
MIB = 1 << 20


def make(kind: str, request: pytest.FixtureRequest, cache: Path) -> Backend:
    if kind == "fake":
        return FakeBackend()
    if kind == "local":
        return LocalBackend(SandboxSpec(backend="local", local_uid=UID), cache=cache)
    request.getfixturevalue("docker_ready")
    return open_backend(SandboxSpec(pool=0))


@asynccontextmanager
async def opening(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Opened]:
    cache = tmp_path_factory.mktemp("cache")
    for folder in (cache, *cache.parents[:2]):
        folder.chmod(0o755)
    backend = make(request.param, request, cache)
    image = "local" if request.param == "local" else await backend.ensure_toolchain()
    async with backend.open(image) as guest:
        yield backend, image, guest


@pytest.fixture(scope="module", params=["fake", *REAL])
async def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Opened]:
    """One sandbox of every kind."""
    async with opening(request, tmp_path_factory) as found:
        yield found


@pytest.fixture(scope="module", params=REAL)
async def running(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Opened]:
    """One sandbox of every kind that really runs commands."""
    async with opening(request, tmp_path_factory) as found:
        yield found


async def emptied(guest: Guest) -> Guest:
    if isinstance(guest, FakeGuest):
        guest.files.clear()
    else:
        await sh(
            guest,
            "chmod -R u+rwx . ; find . -mindepth 1 -delete; rm -rf /tmp/contract; mkdir /tmp/contract",
        )
    return guest


@pytest.fixture
async def guest(opened: Opened) -> Guest:
    """A sandbox with an empty work tree."""
    return await emptied(opened[2])


@pytest.fixture
async def machine(running: Opened) -> Guest:
    """A sandbox with an empty work tree that really runs commands."""
    return await emptied(running[2])


async def sh(guest: Guest, script: str, **more: Any) -> CommandResult:
    return await guest.run(("/bin/sh", "-c", script), **{"limits": QUICK, **more})


async def py(guest: Guest, script: str, **more: Any) -> CommandResult:
    return await guest.run(
        ("/usr/bin/python3", "-I", "-S", "-c", script), **{"limits": QUICK, **more}
    )


def edit(path: str, content: bytes = b"x\n", mode: Any = "100644") -> FileEdit:
    return FileEdit(path=path, mode=mode, content=content)


def archive(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


# --- the set-up's way out: every implementation ---------------------------------------------------


async def test_egress_ends_once_and_for_all_and_only_for_a_set_up_that_is_open(
    opened: Opened,
) -> None:
    backend, image, mission = opened
    async with backend.open_setup(image) as setup:
        await backend.allow_hosts(setup, ("files.invalid:443",))
        first = await backend.end_egress(setup)
        assert first.hosts == ()
        assert await backend.end_egress(setup) == first
        assert await setup.list_files() == ()
        await backend.allow_hosts(setup, ("files.invalid:443",))
    for guest in (mission, setup):
        with pytest.raises(SandboxError):
            await backend.end_egress(guest)


# --- environments: every implementation -----------------------------------------------------------


async def test_an_environment_is_kept_with_its_notes_counted_and_built_upon(opened: Opened) -> None:
    backend, image, mission = opened
    key = f"contract-{os.getpid()}"
    assert await backend.find_environment(key) is None
    async with backend.open_setup(image) as setup:
        reference = await backend.keep_environment(setup, key, notes={"record": "ü"})
    try:
        assert await backend.find_environment(key) == reference
        assert await backend.environment_notes(reference) == {"record": "ü"}
        assert (await backend.prune(only_count=True)).count >= 1
        async with backend.open_setup(reference) as above:
            assert await above.list_files() == ()
        await backend.prune()
        assert await backend.find_environment(key) == reference, "what was just made stays"
    finally:
        if not isinstance(mission, FakeGuest) and backend.name == "docker":
            import docker

            client = docker.from_env()
            client.images.remove(reference, force=True)
            client.close()


# --- files: every implementation ------------------------------------------------------------------


async def test_written_files_are_read_back(guest: Guest) -> None:
    await guest.write([edit("a.py", b"one\n"), edit("deep/er/b.bin", bytes(range(256)))])
    assert await guest.read("a.py") == b"one\n"
    assert await guest.read("deep/er/b.bin") == bytes(range(256))


async def test_a_missing_file_reads_as_none(guest: Guest) -> None:
    assert await guest.read("nothing.py") is None
    assert await guest.read("no/such/folder.py") is None


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/passwd", "", "a//b", ".", "./a", "a\0b"]
)
async def test_a_path_that_leaves_the_work_tree_is_refused(guest: Guest, path: str) -> None:
    with pytest.raises(ChangeRejected):
        await guest.read(path)
    with pytest.raises(ChangeRejected):
        await guest.write([edit(path)])


async def test_one_refused_path_writes_nothing_at_all(guest: Guest) -> None:
    with pytest.raises(ChangeRejected):
        await guest.write([edit("good.py"), edit("../bad.py")])
    assert await guest.list_files() == ()


async def test_a_folder_is_not_overwritten_by_a_file(guest: Guest) -> None:
    await guest.write([edit("folder/a.py")])
    with pytest.raises(ChangeRejected):
        await guest.write([edit("folder")])


async def test_a_file_over_the_limit_is_not_read(guest: Guest) -> None:
    await guest.write([edit("big", b"x" * 5000)])
    with pytest.raises(ChangeRejected):
        await guest.read("big", max_bytes=4999)
    assert len(await guest.read("big", max_bytes=5000) or b"") == 5000


async def test_files_are_listed_sorted_without_git_and_caches(guest: Guest) -> None:
    paths = ["b.py", "a/c.py", ".git/config", "a/__pycache__/c.pyc", ".pytest_cache/x", ".hidden"]
    await guest.write([edit(path) for path in paths])
    assert await guest.list_files() == (".hidden", "a/c.py", "b.py")


async def test_odd_names_survive(guest: Guest) -> None:
    names = ["with space.py", "ünïcödé-文.py", "quote'\".py", "-dash", "new\nline"]
    await guest.write([edit(name, name.encode()) for name in names])
    assert await guest.list_files() == tuple(sorted(names))
    assert await guest.read("new\nline") == b"new\nline"


async def test_an_export_without_changes_is_empty(guest: Guest) -> None:
    await guest.write([edit("a.py"), edit("b.py")])
    assert await guest.snap() == 2
    assert await guest.export() == ()


async def test_created_modified_and_deleted_files_are_exported(guest: Guest) -> None:
    await guest.write([edit("keep.py"), edit("change.py"), edit("gone/gone.py")])
    await guest.snap()
    await guest.write(
        [
            edit("change.py", b"y\n"),
            edit("gone/gone.py", mode="deleted"),
            edit("new/new.py", b"n\n"),
        ]
    )
    assert await guest.export() == (
        edit("change.py", b"y\n"),
        edit("gone/gone.py", b"", "deleted"),
        edit("new/new.py", b"n\n"),
    )


async def test_a_changed_executable_bit_is_exported(guest: Guest) -> None:
    await guest.write([edit("run.sh")])
    await guest.snap()
    await guest.write([edit("run.sh", mode="100755")])
    assert await guest.export() == (edit("run.sh", mode="100755"),)


async def test_a_change_that_was_taken_back_is_not_exported(guest: Guest) -> None:
    await guest.write([edit("a.py")])
    await guest.snap()
    await guest.write([edit("a.py", b"other\n")])
    await guest.write([edit("a.py")])
    assert await guest.export() == ()


async def test_binary_content_is_exported_byte_for_byte(guest: Guest) -> None:
    await guest.snap()
    content = bytes(range(256)) * 64
    await guest.write([edit("blob.bin", content)])
    assert await guest.export() == (edit("blob.bin", content),)


async def test_a_large_new_file_is_left_out_of_an_export(guest: Guest) -> None:
    await guest.snap()
    await guest.write([edit("core.dump", b"x" * (MIB + 1)), edit("a.py")])
    assert await guest.export() == (edit("a.py"),)


async def test_a_known_file_that_grew_too_large_refuses_the_export(guest: Guest) -> None:
    await guest.write([edit("a.py")])
    await guest.snap()
    await guest.write([edit("a.py", b"x" * (MIB + 1))])
    with pytest.raises(ChangeRejected):
        await guest.export()


async def test_too_many_changed_files_refuse_the_export(guest: Guest) -> None:
    await guest.snap()
    await guest.write([edit(f"f{number}.py") for number in range(21)])
    with pytest.raises(ChangeRejected):
        await guest.export()


async def test_a_deleted_file_that_is_not_there_is_no_error(guest: Guest) -> None:
    await guest.write([edit("never.py", mode="deleted")])
    assert await guest.list_files() == ()


async def test_an_archive_is_unpacked(guest: Guest) -> None:
    await guest.unpack(archive(**{"x.py": b"x = 1\n", "y.txt": b"y"}), f"{guest.workdir}/sub")
    assert await guest.read("sub/x.py") == b"x = 1\n"


async def test_a_command_that_does_not_exist_gives_127(guest: Guest) -> None:
    result = await guest.run(("no-such-program",), limits=QUICK)
    assert result.exit_code == 127
    assert "no-such-program" in result.stderr
    assert not result.ok


async def test_a_closed_folder_in_path_hides_no_missing_program(guest: Guest) -> None:
    path = {"PATH": "/root:/usr/bin:/bin"}
    result = await guest.run(("no-such-program",), limits=QUICK, env=path)
    assert result.exit_code == 127
    assert "no-such-program" in result.stderr
    assert "denied" not in result.stderr


async def test_an_environment_is_found_by_its_key_only(opened: Opened) -> None:
    assert await opened[0].find_environment("contract-never-kept") is None


async def test_a_digest_names_the_image(opened: Opened) -> None:
    backend, image, _ = opened
    assert (await backend.digest(image)).startswith("sha256:")


async def test_a_closed_sandbox_says_that_it_is_gone(opened: Opened) -> None:
    backend, image, _ = opened
    async with backend.open(image) as guest:
        pass
    with pytest.raises(SandboxDied):
        await guest.run(("/bin/true",), limits=QUICK)
    with pytest.raises(SandboxDied):
        await guest.list_files()


# --- commands: whatever really runs them ----------------------------------------------------------


async def test_the_exit_status_is_told(machine: Guest) -> None:
    assert (await sh(machine, "exit 7")).exit_code == 7
    assert (await sh(machine, "true")).ok


async def test_a_command_ended_by_a_signal_has_no_exit_status(machine: Guest) -> None:
    result = await sh(machine, "kill -SEGV $$")
    assert (result.exit_code, result.signal, result.ok) == (None, 11, False)


async def test_output_and_errors_are_kept_apart(machine: Guest) -> None:
    result = await sh(machine, "echo out; echo err >&2; echo more")
    assert (result.stdout, result.stderr) == ("out\nmore\n", "err\n")


async def test_output_is_unicode_and_broken_bytes_are_replaced(machine: Guest) -> None:
    result = await py(machine, "import os; os.write(1, 'grün 文\\n'.encode() + b'\\xff\\n')")
    assert result.stdout == "grün 文\n\ufffd\n"


async def test_of_long_output_head_and_tail_are_kept(machine: Guest) -> None:
    limits = RunLimits(wall_s=20, output_bytes=2000)
    result = await py(machine, "print('head'); print('x' * 100_000); print('tail')", limits=limits)
    assert result.stdout.startswith("head\n")
    assert result.stdout.endswith("tail\n")
    assert "bytes left out" in result.stdout
    assert len(result.stdout) < 2200
    assert result.ok


async def test_a_flood_of_output_ends_the_command(machine: Guest) -> None:
    limits = RunLimits(wall_s=HANG_S, output_bytes=2000, kill_output_bytes=4 * MIB)
    result = await sh(machine, "yes", limits=limits)
    assert result.flooded
    assert not result.ok
    assert result.exit_code is None


async def test_the_wall_limit_ends_a_command(machine: Guest) -> None:
    started = time.monotonic()
    result = await sh(machine, "sleep 600", limits=RunLimits(wall_s=0.5))
    assert result.timed_out
    assert result.exit_code is None
    assert 0.4 < time.monotonic() - started < HANG_S


async def test_what_ignores_polite_signals_is_ended_too(machine: Guest) -> None:
    result = await sh(
        machine, "trap '' TERM INT HUP; while :; do sleep 0.1; done", limits=RunLimits(wall_s=0.5)
    )
    assert result.timed_out


async def test_children_and_grandchildren_end_with_the_limit(machine: Guest) -> None:
    script = "(while :; do date +%s%N > /tmp/contract/beat; sleep 0.05; done) & (sleep 60 & sleep 60) & sleep 60"
    result = await sh(machine, script, limits=RunLimits(wall_s=3.0))
    assert result.timed_out
    assert result.survivors >= 3
    await assert_still(machine)


async def assert_still(machine: Guest) -> None:
    """Nothing writes the heartbeat any more."""
    result = await sh(
        machine, "stat -c %y /tmp/contract/beat; sleep 0.3; stat -c %y /tmp/contract/beat"
    )
    first, second = result.stdout.splitlines()
    assert first == second


async def test_a_daemon_in_a_session_of_its_own_ends_with_the_command(machine: Guest) -> None:
    script = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            open("/tmp/contract/beat", "w").write(str(time.time_ns())); time.sleep(0.05)
    os._exit(0)
time.sleep(0.4)
"""
    result = await py(machine, script)
    assert result.ok
    assert result.survivors == 1
    await assert_still(machine)


async def test_a_background_child_that_holds_the_pipes_is_not_waited_for(machine: Guest) -> None:
    started = time.monotonic()
    result = await sh(machine, "sleep 600 & echo done", limits=RunLimits(wall_s=HANG_S))
    assert (result.stdout, result.exit_code, result.survivors) == ("done\n", 0, 1)
    assert time.monotonic() - started < HANG_S


async def test_after_a_limit_the_next_command_runs(machine: Guest) -> None:
    await sh(machine, "sleep 30", limits=RunLimits(wall_s=0.2))
    assert (await sh(machine, "echo alive")).stdout == "alive\n"


async def test_standard_input_arrives(machine: Guest) -> None:
    assert (await sh(machine, "cat", stdin=b"to be read\n")).stdout == "to be read\n"
    assert (await sh(machine, "cat")).stdout == ""


async def test_megabytes_of_standard_input_arrive(machine: Guest) -> None:
    data = os.urandom(3 * MIB)
    result = await py(
        machine,
        "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())",
        stdin=data,
    )
    assert result.stdout.strip() == hashlib.sha256(data).hexdigest()


async def test_standard_input_nobody_reads_does_no_harm(machine: Guest) -> None:
    assert (await sh(machine, "exit 3", stdin=b"x" * (3 * MIB))).exit_code == 3
    assert (
        await sh(machine, "sleep 9", stdin=b"x" * (3 * MIB), limits=RunLimits(wall_s=0.3))
    ).timed_out
    assert (await sh(machine, "echo in step")).stdout == "in step\n"


async def test_standard_input_that_looks_like_a_message_is_only_data(machine: Guest) -> None:
    data = b'{"op":"kill"}\n{"op":"run"}\n' * 2000
    assert (await sh(machine, "wc -c", stdin=data)).stdout.strip() == str(len(data))


async def test_nothing_of_the_host_environment_leaks(machine: Guest) -> None:
    names = {line.partition("=")[0] for line in (await sh(machine, "env")).stdout.splitlines()}
    assert names <= {
        "PATH",
        "HOME",
        "LANG",
        "PYTHONDONTWRITEBYTECODE",
        "CI",
        "TZ",
        "PWD",
        "TMPDIR",
        "SHLVL",
        "_",
        "OLDPWD",
    }


async def test_given_variables_are_added(machine: Guest) -> None:
    result = await sh(machine, 'echo "$MINE $LANG"', env={"MINE": "here", "LANG": "C"})
    assert result.stdout == "here C\n"


async def test_commands_start_in_the_work_tree_unless_told(machine: Guest) -> None:
    assert (await sh(machine, "pwd")).stdout.strip() == machine.workdir
    assert (await sh(machine, "pwd", cwd="/usr")).stdout.strip() == "/usr"


async def test_a_folder_that_does_not_exist_is_an_answer(machine: Guest) -> None:
    result = await sh(machine, "pwd", cwd="/no/such/folder")
    assert result.exit_code == 126
    assert "/no/such/folder" in result.stderr


async def test_the_results_channel_is_separate_from_output(machine: Guest) -> None:
    result = await sh(machine, "echo out; printf 'one\\ntwo' >&3")
    assert (result.stdout, result.results) == ("out\n", b"one\ntwo")


async def test_results_are_cut_at_their_limit(machine: Guest) -> None:
    result = await py(
        machine,
        "import os; os.write(3, b'x' * 5000)",
        limits=RunLimits(wall_s=9, results_bytes=1000),
    )
    assert result.results == b"x" * 1000


async def test_results_stream_line_by_line_while_the_command_runs(machine: Guest) -> None:
    script = "import os, time\nfor n in range(3):\n    os.write(3, b'%d\\n' % n); time.sleep(1.5)\nos.write(3, b'end')"
    items, times = [], []
    async for item in machine.stream(("/usr/bin/python3", "-I", "-S", "-c", script), limits=QUICK):
        items.append(item)
        times.append(time.monotonic())
    assert items[:-1] == [b"0", b"1", b"2", b"end"]
    assert isinstance(items[-1], CommandResult)
    assert items[-1].results == b"0\n1\n2\nend"
    assert times[2] - times[0] > 0.5  # three seconds, less what the reader was late


async def test_closing_a_stream_early_kills_the_command(machine: Guest) -> None:
    script = "while :; do date +%s%N > /tmp/contract/beat; echo line >&3; sleep 0.05; done"
    stream = machine.stream(("/bin/sh", "-c", script), limits=QUICK)
    async with aclosing(stream) as lines:  # type: ignore[type-var]
        async for _ in lines:
            break
    await assert_still(machine)


async def test_a_slow_reader_does_not_stretch_the_wall_limit(machine: Guest) -> None:
    stream = machine.stream(
        ("/bin/sh", "-c", "while :; do echo line >&3; done"), limits=RunLimits(wall_s=0.5)
    )
    last = None
    async for item in stream:
        if last is None:
            await asyncio.sleep(1.0)
        last = item
    assert isinstance(last, CommandResult)
    assert last.timed_out or last.flooded
    assert last.duration_s < HANG_S


async def test_a_cancelled_command_is_killed_and_the_sandbox_goes_on(machine: Guest) -> None:
    script = "while :; do date +%s%N > /tmp/contract/beat; sleep 0.05; done"
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3.0):
            await sh(machine, script)
    await assert_still(machine)


async def test_two_commands_at_once_wait_for_each_other(machine: Guest) -> None:
    first, second = await asyncio.gather(sh(machine, "sleep 0.2; echo 1"), sh(machine, "echo 2"))
    assert (first.stdout, second.stdout) == ("1\n", "2\n")


async def test_two_sandboxes_work_at_once_and_see_nothing_of_each_other(
    running: Opened, machine: Guest
) -> None:
    backend, image, _ = running
    async with backend.open(image) as other:
        await machine.write([edit("mine.py")])
        pair = await asyncio.gather(sh(machine, "sleep 0.3; ls"), sh(other, "sleep 0.3; ls"))
    assert [result.stdout for result in pair] == ["mine.py\n", ""]


async def test_the_end_of_one_sandbox_leaves_the_other_alone(
    running: Opened, machine: Guest
) -> None:
    backend, image, _ = running
    going = asyncio.ensure_future(sh(machine, "sleep 1; echo survived"))
    async with backend.open(image) as other:
        await sh(other, "sleep 5", limits=RunLimits(wall_s=0.2))
    assert (await going).stdout == "survived\n"


async def test_a_link_is_neither_read_nor_written_through(machine: Guest) -> None:
    await sh(machine, "ln -s /etc/passwd link; ln -s /tmp/contract folder; ln -s loop loop")
    for path in ("link", "folder/x", "loop"):
        assert await machine.read(path) is None
        with pytest.raises(ChangeRejected):
            await machine.write([edit(path)])
    assert await machine.list_files() == ()
    assert (await sh(machine, "ls /tmp/contract")).stdout == ""


async def test_links_special_files_and_hard_links_are_not_exported(machine: Guest) -> None:
    await machine.snap()
    await sh(
        machine, "ln -s /etc/passwd link; mkfifo fifo; echo a > a; ln a b; echo plain > plain.py"
    )
    assert await machine.export() == (edit("plain.py", b"plain\n"),)


async def test_a_known_file_that_became_a_link_refuses_the_export(machine: Guest) -> None:
    await machine.write([edit("a.py")])
    await machine.snap()
    await sh(machine, "rm a.py; ln -s /etc/passwd a.py")
    with pytest.raises(ChangeRejected):
        await machine.export()


async def test_closed_files_and_folders_are_exported_all_the_same(machine: Guest) -> None:
    await machine.snap()
    await sh(machine, "mkdir d; echo x > d/a.py; echo y > b.py; chmod 000 d/a.py b.py d .")
    assert await machine.export() == (edit("b.py", b"y\n"), edit("d/a.py"))


async def test_a_work_tree_that_was_closed_is_entered_again(machine: Guest) -> None:
    await sh(machine, "echo x > a; chmod 000 .")
    assert (await sh(machine, "cat a")).stdout == "x\n"


async def test_writing_a_file_leaves_hard_links_to_it_alone(machine: Guest) -> None:
    await sh(
        machine,
        "echo old > /tmp/contract/other; ln /tmp/contract/other a.py || cp /tmp/contract/other a.py",
    )
    await machine.write([edit("a.py", b"new\n")])
    assert (await sh(machine, "cat /tmp/contract/other a.py")).stdout == "old\nnew\n"


async def test_changes_made_by_commands_are_exported(machine: Guest) -> None:
    await machine.write([edit("a.py", b"one\n"), edit("b.py", b"two\n")])
    await machine.snap()
    await sh(
        machine, "sed -i s/one/ONE/ a.py; chmod +x b.py; mkdir sub; printf '\\000\\377' > sub/c.bin"
    )
    assert await machine.export() == (
        edit("a.py", b"ONE\n"),
        edit("b.py", b"two\n", "100755"),
        edit("sub/c.bin", b"\x00\xff"),
    )


async def test_commands_run_as_nobody_in_particular(machine: Guest) -> None:
    assert (await sh(machine, "id -u")).stdout.strip() not in {"0", ""}


async def test_guest_programs_can_be_run_and_not_changed(machine: Guest) -> None:
    result = await sh(
        machine, f"test -r {machine.guest_dir}/wire.py && echo x >> {machine.guest_dir}/wire.py"
    )
    assert result.exit_code not in {0, None}
    assert (
        await machine.run((machine.python, "-c", "print(6 * 7)"), limits=QUICK)
    ).stdout == "42\n"


async def test_a_folder_for_work_without_links_is_not_left_behind_by_chmod(machine: Guest) -> None:
    await machine.snap()
    await sh(machine, "mkdir -p /tmp/contract/x; chmod 000 ..")
    assert await machine.export() == ()
    assert (await sh(machine, "pwd")).ok


# --- surroundings: every implementation that really runs ----------------------------------------------

_ASK = """
import json, locale, os, pwd, socket, time
print(json.dumps({
    "folder": os.getcwd(), "home": os.path.expanduser("~"), "ci": os.environ.get("CI"), "zone": time.timezone,
    "locale": [os.environ.get("LANG"), locale.setlocale(locale.LC_CTYPE, "")],
    "user": [one.pw_name for one in pwd.getpwall() if one.pw_uid == os.getuid()],
    "uid": os.getuid(), "gid": os.getgid(), "host": socket.gethostname(),
}))
"""
_OF_A_CONTAINER = {"user", "uid", "gid", "host"}
"""What processes of this host cannot have otherwise."""


async def asked(backend: Backend, image: str, surroundings: Surroundings) -> dict[str, Any]:
    """What a command finds out about the place it runs in."""
    async with backend.open(image, surroundings=surroundings) as guest:
        done = await guest.run(("/usr/bin/python3", "-c", _ASK), limits=QUICK)
        assert done.ok, done.stderr
        assert (
            await py(guest, "print('é', open(0).read())", stdin="ü".encode())
        ).stdout.split() == ["é", "ü"]
        found: dict[str, Any] = json.loads(done.stdout)
        return found


async def test_nothing_a_command_can_ask_is_the_same_in_changed_surroundings(
    running: Opened,
) -> None:
    backend, image, _ = running
    usual, changed = await asked(backend, image, USUAL), await asked(backend, image, CHANGED)
    same = {name for name in usual if usual[name] == changed[name]}
    assert same == (set() if backend.name == "docker" else _OF_A_CONTAINER)
    assert changed["ci"] is None
    assert changed["folder"].endswith(CHANGED.workdir)


async def test_what_names_the_usual_folder_means_the_one_that_is_there(running: Opened) -> None:
    backend, image, _ = running
    if backend.name != "docker":
        pytest.skip("here the checkout never has its usual path")
    async with backend.open(image, surroundings=CHANGED) as guest:
        done = await sh(
            guest, f"cd {USUAL.workdir}/ && pwd && echo $WHERE", env={"WHERE": f"{USUAL.workdir}/a"}
        )
    assert done.stdout.split() == [CHANGED.workdir, f"{CHANGED.workdir}/a"]


@pytest.mark.parametrize("surroundings", [USUAL, CHANGED], ids=["usual", "changed"])
async def test_a_checkout_is_in_a_folder_of_its_name(
    running: Opened, surroundings: Surroundings
) -> None:
    backend, image, _ = running
    async with backend.open(image, surroundings=surroundings.named("shop")) as guest:
        assert guest.workdir.endswith(f"{dirname(surroundings.workdir)}/shop")
        await guest.write((FileEdit(path="a.txt", mode="100644", content=b"a"),))
        done = await sh(guest, 'basename "$PWD"; cat a.txt')
    assert done.stdout.split() == ["shop", "a"]
