"""A container image of this machine's PostgreSQL: no registry can be asked for the official one."""

import io
import re
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.missing import missing
from tests.postgres import find_program

USER = 999
PROGRAMS = ("initdb", "pg_isready", "postgres")
DATA = "/var/lib/postgresql/data"
ACCOUNT = f"postgres:x:{USER}:{USER}::/:/bin/sh\n"
START = f"""
set -e
if [ ! -s {DATA}/PG_VERSION ]; then
  echo "$POSTGRES_PASSWORD" > /tmp/password
  initdb -D {DATA} -U "$POSTGRES_USER" -A scram-sha-256 --pwfile /tmp/password --no-locale -E UTF8
  echo 'host all all all scram-sha-256' >> {DATA}/pg_hba.conf
  echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -D {DATA} postgres
fi
exec postgres -D {DATA} -c listen_addresses='*' -c unix_socket_directories=/tmp
"""
"""As the official image begins: user, password and database come from the same variables."""


@contextmanager
def postgres_image() -> Iterator[str]:
    """Import the image; it is removed at the end."""
    programs = Path(find_program("postgres") or "/").resolve().parent
    share = Path("/usr/share/postgresql") / programs.parent.name
    if not (share / "postgres.bki").is_file():
        missing("no PostgreSQL from Debian's packages is installed (scripts/ensure-postgres)")
    name = f"metaagent-test-postgres:{uuid4().hex[:12]}"
    changes = (
        f"ENV PATH={programs}:/bin",
        "ENV PGHOST=/tmp",
        f"USER {USER}:{USER}",
        f"VOLUME {DATA}",
        'ENTRYPOINT ["/bin/sh", "/start.sh"]',
    )
    options = [word for change in changes for word in ("--change", change)]
    command = ["docker", "import", *options, "-", name]
    subprocess.run(command, input=_archive(programs, share), check=True, capture_output=True)
    try:
        yield name
    finally:
        subprocess.run(["docker", "rmi", "--force", name], check=False, capture_output=True)


def _archive(programs: Path, share: Path) -> bytes:
    """Pack the server with the libraries that it loads, its user and a folder for its data."""
    started = ["/bin/sh", *(str(programs / name) for name in PROGRAMS)]
    modules = programs.parent / "lib"
    kept = {*started, *_libraries(started), str(share), str(modules)}
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", dereference=True) as archive:
        for path in sorted(kept):
            archive.add(path, filter=_without_jit)
        for path, text in {"/etc/passwd": ACCOUNT, "/start.sh": START}.items():
            file = tarfile.TarInfo(path)
            file.size, file.mode = len(text.encode()), 0o644
            archive.addfile(file, io.BytesIO(text.encode()))
        for path, mode in {DATA: 0o700, "/tmp": 0o1777, "/usr/share/zoneinfo": 0o755}.items():
            folder = tarfile.TarInfo(path)
            folder.type, folder.mode, folder.uid, folder.gid = tarfile.DIRTYPE, mode, USER, USER
            archive.addfile(folder)
    return content.getvalue()


def _without_jit(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Leave out the compiler, whose library is larger than everything else."""
    return None if "llvmjit" in member.name or "/bitcode" in member.name else member


def _libraries(programs: list[str]) -> set[str]:
    """Return the shared libraries of programs, as the loader names them."""
    done = subprocess.run(["ldd", *programs], check=True, capture_output=True, text=True)
    return set(re.findall(r"(/\S+) \(0x", done.stdout))
