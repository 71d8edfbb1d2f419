"""A PostgreSQL server of the tests' own: in a folder that goes with them, on a free port of this machine."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg

from tests.demo.bot_process import free_port
from tests.missing import missing

USERS = ("postgres", "nobody")
"""Whom it runs as when we are root, whom it refuses."""


class Server:
    """A server that answers.

    Args:
        folder: Its data.
        port: Its port on the loopback.
    """

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port

    def url(self, database: str) -> str:
        """Of one of its databases."""
        return f"postgresql://tests@127.0.0.1:{self._port}/{database}"

    def new_database(self, template: str = "template1") -> str:
        """The URL of one more database."""
        name = f"d{uuid4().hex}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as database:
            database.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return self.url(name)

    def start(self) -> None:
        """Begin to answer."""
        options = f"-p {self._port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        log = self._folder / "log"
        _run(
            "pg_ctl", "-D", str(self._folder / "data"), "-l", str(log), "-w", "-o", options, "start"
        )

    def stop(self, mode: str = "immediate") -> None:
        """Stop at once, as a machine that loses its power would; or in the order another `mode` of pg_ctl keeps."""
        _run("pg_ctl", "-D", str(self._folder / "data"), "-m", mode, "-w", "stop")


@contextmanager
def a_server() -> Iterator[Server]:
    """A new server, until the end; a miss where PostgreSQL is not installed."""
    if find_program("pg_ctl") is None or find_program("initdb") is None:
        missing("PostgreSQL is not installed (scripts/ensure-postgres)")
    folder = Path(tempfile.mkdtemp(prefix="metaagent-postgres-"))
    if (owner := _owner()) is not None:
        shutil.chown(folder, owner)
    try:
        _run(
            "initdb",
            "-D",
            str(folder / "data"),
            "-U",
            "tests",
            "-A",
            "trust",
            "-N",
            "--no-locale",
            "-E",
            "UTF8",
        )
        server = Server(folder, free_port())
        server.start()
        try:
            yield server
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(program: str, *arguments: str) -> None:
    found = find_program(program)
    assert found is not None
    subprocess.run(
        [found, *arguments],
        check=True,
        user=_owner(),
        cwd="/",
        stdout=subprocess.DEVNULL,
        timeout=60,
    )


def find_program(name: str) -> str | None:
    """Return the path of one of PostgreSQL's programs."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return shutil.which(name) or next(
        (str(one / name) for one in places if (one / name).is_file()), None
    )


def _owner() -> str | None:
    """The user it runs as, when it must not be ours."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(user for user in USERS if user in known)
