"""Build and install the source distributions of `fetch_sdists`, without network."""

import json
import os
import re
import sys
from typing import Any, Dict, List

from sandbox.guest.fetch_sdists import PLAN, Failed, run_and_report, uv, work_folder
from sandbox.guest.source_index import normal_name


def build(folder: str, python: str) -> Dict[str, Any]:
    """Build and install each source distribution, and check for missing requirements."""
    folder = work_folder(folder)
    with open(os.path.join(folder, PLAN)) as file:
        plan = json.load(file)
    built = os.path.join(folder, "built")
    for source in plan:
        tools = os.path.join(source["tools"], "bin")
        # The build tools are installed already, because nothing can be fetched now.
        done = uv(
            *(
                "build",
                "--wheel",
                "--offline",
                "--no-build-isolation",
                "--no-sources",
                "--out-dir",
                built,
            ),
            *(
                "--python",
                os.path.join(tools, "python"),
                os.path.join(folder, "sdists", source["file"]),
            ),
            PATH=tools + os.pathsep + os.environ.get("PATH", ""),
            VIRTUAL_ENV=source["tools"],
        )
        if done.returncode:
            raise Failed(
                source["name"],
                "it could not be built from source",
                done.stdout + done.stderr,
                requested=source["requested"],
            )
    wheels = [
        os.path.join(built, name) for name in sorted(os.listdir(built)) if name.endswith(".whl")
    ]
    done = uv("pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, *wheels)
    if done.returncode:
        raise Failed("", "the built wheels could not be installed", done.stderr)
    _check_missing({source["name"]: source["requested"] for source in plan}, python)
    return {"built": len(wheels)}


def _check_missing(requested: Dict[str, List[str]], python: str) -> None:
    """Check for requirements of a built project that its metadata did not list."""
    output = " ".join(uv("pip", "check", "--python", python).stderr.split())
    for package, wanted in re.findall(
        r"The package `([^`]+)` requires `([^`]+)`, but it'?s not installed", output
    ):
        name = normal_name(package)
        if name in requested:
            raise Failed(
                name,
                "it requires %s, which its metadata does not list" % wanted,
                output,
                requested=requested[name],
            )


def main(arguments: List[str]) -> None:
    """Build into the environment of an interpreter."""
    folder, python = arguments
    run_and_report(lambda: build(folder, python))


if __name__ == "__main__":
    main(sys.argv[1:])
