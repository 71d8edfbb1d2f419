"""Copies of databases that hold together, made while they are in use."""

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
    """Copy databases, one after the other in the order given, into a new folder that only its owner may read.

    Nobody who writes meanwhile has to wait. The folder is there when every copy is whole, and not before.

    Args:
        files: Those that are not there are left out.
        target: The folder to make; nothing is there.

    Raises:
        StoreError: a copy cannot be made, or is not sound; there is no folder then.
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
        raise StoreError(f"no backup was made ({error})", f"look at {target.parent} and at the databases") from error


def _copy(path: Path, copy: Path) -> None:
    make_private(copy)  # also when it is taken out of its folder, to be restored
    with closing(sqlite3.connect(path, timeout=30)) as source, closing(sqlite3.connect(copy)) as made:
        source.execute("PRAGMA query_only = 1")
        source.backup(made)  # all pages at once: one moment of the database
        made.execute("PRAGMA journal_mode = DELETE")  # one file, whatever the original has beside it
        (verdict,) = made.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise StoreError(f"{path} is damaged ({verdict})", "restore the last good backup")
    with copy.open("rb") as written:
        os.fsync(written.fileno())


async def dump(url: str, target: Path, environment: Mapping[str, str]) -> None:
    """Copy a PostgreSQL database into a file by the server's own program, which shows no list of processes a password.

    Args:
        url: The database.
        target: The file to make; nothing is there.
        environment: Of the program: where it is found, and what it is told otherwise.

    Raises:
        StoreError: the program is not here, or made no copy.
    """
    shown, password = without_password(url)
    unfinished = target.with_name(f".{target.name}.unfinished")
    words = ["--format=custom", f"--dbname={shown}"]
    program = shutil.which("pg_dump", path=environment.get("PATH"))
    if program is None:
        raise StoreError(
            "pg_dump is not installed here", f"run where it is: pg_dump {shlex.join([*words, f'--file={target}'])}"
        )
    secret = {"PGPASSWORD": unquote(password)} if password else {}
    try:
        await asyncio.to_thread(_make_empty, unfinished)
        with _told(key_password(url), environment) as (told, files):
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
            raise StoreError(f"pg_dump made no backup ({reason})", "look at the database and the folder")
        await asyncio.to_thread(unfinished.rename, target)
    except OSError as error:
        raise StoreError(f"no backup was made ({error})", f"look at {target.parent}") from error
    finally:
        await asyncio.to_thread(unfinished.unlink, missing_ok=True)


@contextmanager
def _told(password: str, environment: Mapping[str, str]) -> Iterator[tuple[dict[str, str], tuple[int, ...]]]:
    """Tell a program of PostgreSQL's our TLS key's password: variables for it, and files that it has to be given.

    There is no variable for that password itself, only for the name of a file; this one has none for anybody else.

    Raises:
        StoreError: the program has such a file already.
    """
    if not password:
        yield {}, ()
        return
    if "PGSERVICE" in environment:
        raise StoreError("sslpassword is in the database's URL while PGSERVICE is set", "put it into that service")
    with tempfile.TemporaryFile() as file:
        file.write(f"[{_SERVICE}]\nsslpassword={unquote(password)}\n".encode())
        file.flush()
        yield {"PGSERVICE": _SERVICE, "PGSERVICEFILE": f"/dev/fd/{file.fileno()}"}, (file.fileno(),)


def _make_empty(path: Path) -> None:
    """A file that only its owner reads, for a program that would make it as readable as any."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
