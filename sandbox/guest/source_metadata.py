"""Read the metadata of a source distribution without running any of it."""

import email.parser
import re
import tarfile
import zipfile
from typing import Any, Dict, List, NamedTuple, Optional

MAX_MEMBER = 4 << 20
MAX_MEMBERS = 200_000
USUAL_BUILD = ("setuptools>=40.8.0", "wheel")
"""Default build requirements (PEP 517)."""

_PLAIN = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[\w.,\s-]*\])?[\s()<>=!~,.*+\w-]*(;[^@:/\\]*)?"
)
"""A name with versions.

It becomes an installer argument, where options, paths and addresses would have other effects.
"""


class Described(NamedTuple):
    """The relevant metadata of a source distribution."""

    requires: List[str]
    extras: List[str]
    build: List[str]


def describe(path: str) -> Described:
    """Return the requirements and build requirements of a source distribution.

    Raises:
        ValueError: The file is not an archive, or a build requirement is not a name with versions.
    """
    files = _read(path)
    requires, extras = _read_requirements(files)
    return Described(requires, extras, _build_requires(files.get("pyproject.toml")))


def _relevant_name(name: str) -> Optional[str]:
    """Return the short name of a relevant member; None for others."""
    parts = name.strip("/").split("/")
    *folders, file = parts
    if len(folders) == 1 and file in {"PKG-INFO", "pyproject.toml"}:
        return file
    beside = len(folders) > 1 and folders[-1].endswith(".egg-info") and file == "requires.txt"
    return file if beside else None


def _read(path: str) -> Dict[str, str]:
    found: Dict[str, str] = {}
    try:
        if path.endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist()[:MAX_MEMBERS]:
                    wanted = _relevant_name(info.filename)
                    if wanted and wanted not in found:
                        with archive.open(info) as member:
                            found[wanted] = member.read(MAX_MEMBER).decode("utf-8", "replace")
            return found
        with tarfile.open(path, "r:gz") as tar:
            for number, entry in enumerate(tar):
                wanted = (
                    _relevant_name(entry.name) if entry.isfile() and number < MAX_MEMBERS else None
                )
                if wanted and wanted not in found:
                    data = tar.extractfile(entry)
                    found[wanted] = data.read(MAX_MEMBER).decode("utf-8", "replace") if data else ""
    except (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, NotImplementedError) as error:
        raise ValueError("not a readable archive: %s" % error) from error
    return found


def _read_requirements(files: Dict[str, str]) -> "tuple[List[str], List[str]]":
    """Return the run-time requirements from the metadata, else from setuptools' files."""
    info = email.parser.HeaderParser().parsestr(files.get("PKG-INFO", ""))
    requires = [_one_line(line) for line in info.get_all("Requires-Dist") or []]
    extras = [_one_line(line) for line in info.get_all("Provides-Extra") or []]
    if requires or "requires.txt" not in files:
        return requires, extras
    section = ""
    for line in files["requires.txt"].splitlines():
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif line and not line.startswith("#"):
            extra, _, marker = section.partition(":")
            conditions = ["(%s)" % marker] if marker else []
            if extra:
                conditions.append('extra == "%s"' % extra)
                extras.append(extra)
            requires.append(
                _one_line(line + ("; " + " and ".join(conditions) if conditions else ""))
            )
    return requires, sorted(set(extras))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _build_requires(text: Optional[str]) -> List[str]:
    system = _table(text or "")
    if system is None:
        return list(USUAL_BUILD)
    requires = [_one_line(str(line)) for line in system.get("requires") or []]
    odd = next((line for line in requires if _PLAIN.fullmatch(line) is None), None)
    if odd is not None:
        raise ValueError("it is built with %s, which is no name with versions" % ascii(odd)[:100])
    if any(re.match(r"setuptools\b", line) for line in requires) and "wheel" not in requires:
        requires.append("wheel")  # older versions only request it during the build
    return requires


def _table(text: str) -> Optional[Dict[str, Any]]:
    """Return the table `build-system`; None if there is none."""
    try:
        import tomllib
    except ImportError:
        return _parse_table(text)
    try:
        found = tomllib.loads(text).get("build-system")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _parse_table(text: str) -> Optional[Dict[str, Any]]:
    """Parse the table without a TOML library, for older Pythons: sufficient for common files."""
    found = re.search(r"(?ms)^\[build-system\]\s*$(.*?)(?=^\[|\Z)", text)
    if found is None:
        return None
    lines = re.search(r"(?s)\brequires\s*=\s*\[(.*?)\]\s*(?:#[^\n]*)?(?:\n|\Z)", found.group(1))
    pairs = re.findall(r"\"([^\"\n]*)\"|'([^'\n]*)'", lines.group(1)) if lines else []
    return {"requires": [one or other for one, other in pairs]}
