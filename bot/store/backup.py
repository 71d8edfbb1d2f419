"""Consistent backups of databases in use."""

import asyncio
import os
import shlex
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import unquote

from bot.errors import StoreError
from bot.store.database import key_password, make_private, without_password

_SERVICE = "metaagent"


def back_up(files: Sequence[Path], target: Path) -> None:
    """Copy SQLite databases, in the given order, into a new folder that only its owner may read.

    Writers need not wait. The folder appears only when every copy is complete.

    Args:
        files: The databases; missing ones are skipped.
        target: The folder to create; it must not exist.

    Raises:
        StoreError: a copy failed or is damaged; no folder was created.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            for path in files:
                if path.is_file():
                    _copy(path, unfinished / path.name)
            unfinished.rename(target)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"backup failed ({error})", f"check {target.parent} and the databases"
        ) from error


def _copy(path: Path, copy: Path) -> None:
    make_private(copy)  # stays private after it is moved out of the folder
    with (
        closing(sqlite3.connect(path, timeout=30)) as source,
        closing(sqlite3.connect(copy)) as made,
    ):
        source.execute("PRAGMA query_only = 1")
        source.backup(made)  # all pages in one step: a consistent snapshot
        made.execute("PRAGMA journal_mode = DELETE")  # a single file, without a write-ahead log
        (verdict,) = made.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise StoreError(f"{path} is damaged ({verdict})", "restore the last good backup")
    with copy.open("rb") as written:
        os.fsync(written.fileno())


async def dump(url: str, target: Path, environment: Mapping[str, str]) -> None:
    """Copy a PostgreSQL database into a file with pg_dump.

    Passwords are passed in the environment or a file, so that no process list shows them.

    Args:
        url: The database.
        target: The file to create; it must not exist.
        environment: Environment of pg_dump, including its PATH.

    Raises:
        StoreError: pg_dump is not installed or failed.
    """
    shown, password = without_password(url)
    unfinished = target.with_name(f".{target.name}.unfinished")
    words = ["--format=custom", f"--dbname={shown}"]
    program = shutil.which("pg_dump", path=environment.get("PATH"))
    if program is None:
        raise StoreError(
            "pg_dump is not installed here",
            f"run this where it is installed: pg_dump {shlex.join([*words, f'--file={target}'])}",
        )
    secret = {"PGPASSWORD": unquote(password)} if password else {}
    try:
        await asyncio.to_thread(_make_empty, unfinished)
        with _pass_key_password(key_password(url), environment) as (told, files):
            process = await asyncio.create_subprocess_exec(
                program,
                "--no-password",
                *words,
                f"--file={unfinished}",
                env={**environment, **secret, **told},
                pass_fds=files,
                stderr=asyncio.subprocess.PIPE,
            )
            _, said = await process.communicate()
        if process.returncode:
            reason = said.decode(errors="replace").strip().partition("\n")[0]
            raise StoreError(f"pg_dump failed ({reason})", "check the database and the folder")
        await asyncio.to_thread(unfinished.rename, target)
    except OSError as error:
        raise StoreError(f"backup failed ({error})", f"check {target.parent}") from error
    finally:
        await asyncio.to_thread(unfinished.unlink, missing_ok=True)


@contextmanager
def _pass_key_password(
    password: str, environment: Mapping[str, str]
) -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """Pass our TLS key's password to a PostgreSQL program; yield its variables and files.

    libpq reads that password only from a service file, so it gets one that only it can open.

    Raises:
        StoreError: the environment names a service file already.
    """
    if not password:
        yield {}, ()
        return
    if "PGSERVICE" in environment:
        raise StoreError(
            "sslpassword is in the database's URL while PGSERVICE is set",
            "move it into that service",
        )
    with tempfile.TemporaryFile() as file:
        file.write(f"[{_SERVICE}]\nsslpassword={unquote(password)}\n".encode())
        file.flush()
        yield {"PGSERVICE": _SERVICE, "PGSERVICEFILE": f"/dev/fd/{file.fileno()}"}, (file.fileno(),)


def _make_empty(path: Path) -> None:
    """Create a private file, since pg_dump would create a readable one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
