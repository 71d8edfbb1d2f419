"""Builds what `fetch_sdists` fetched, when nothing can be reached any more, and installs it."""

import json
import os
import re
import sys
from typing import Any, Dict, List

from sandbox.guest.fetch_sdists import PLAN, Failed, guarded, room, uv
from sandbox.guest.source_index import normal_name


def build(folder: str, python: str) -> Dict[str, Any]:
    """Build each source distribution with its own tools, install all of them, and look whether anything is missing."""
    folder = room(folder)
    with open(os.path.join(folder, PLAN)) as file:
        plan = json.load(file)
    built = os.path.join(folder, "built")
    for source in plan:
        tools = os.path.join(source["tools"], "bin")
        done = uv(
            *("build", "--wheel", "--offline", "--no-build-isolation", "--no-sources", "--out-dir", built),
            *("--python", os.path.join(tools, "python"), os.path.join(folder, "sdists", source["file"])),
            PATH=tools + os.pathsep + os.environ.get("PATH", ""),
            VIRTUAL_ENV=source["tools"],
        )
        if done.returncode:
            raise Failed(source["name"], "it could not be built from source", done.stdout + done.stderr)
    wheels = [os.path.join(built, name) for name in sorted(os.listdir(built)) if name.endswith(".whl")]
    done = uv("pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, *wheels)
    if done.returncode:
        raise Failed("", "what was built could not be installed", done.stderr)
    _look_for_missing({source["name"] for source in plan}, python)
    return {"built": len(wheels)}


def _look_for_missing(names: "set[str]", python: str) -> None:
    """A project may ask for more once it is built than it said before."""
    said = " ".join(uv("pip", "check", "--python", python).stderr.split())
    for package, wanted in re.findall(r"The package `([^`]+)` requires `([^`]+)`, but it'?s not installed", said):
        if normal_name(package) in names:
            raise Failed(normal_name(package), "it asks for %s, which its metadata does not say" % wanted, said)


def main(arguments: List[str]) -> None:
    """Build into the environment of an interpreter, from a folder."""
    folder, python = arguments
    guarded(lambda: build(folder, python))


if __name__ == "__main__":
    main(sys.argv[1:])
