"""A job is refused for what its checks use and the sandbox has not, and for nothing else."""

import json
from typing import Any

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.types import JobHints

DOWNLOAD = "actions/download-artifact@v4"
CLONE = "git clone --depth 1 https://code.example/acme/data.git"


def download(**inputs: str) -> dict[str, Any]:
    return {"uses": DOWNLOAD, "with": inputs}


def upload(**inputs: str) -> dict[str, Any]:
    return {"uses": "actions/upload-artifact@v4", "with": inputs}


def obstacles(*steps: str | dict[str, Any], uploads: tuple[dict[str, Any], ...] = ()) -> str:
    listed = [{"run": one} if isinstance(one, str) else one for one in steps]
    jobs = {
        "make": {"runs-on": "ubuntu-latest", "steps": uploads},
        "check": {"runs-on": "ubuntu-latest", "steps": listed},
    }
    package = {"name": "top", "scripts": {"test:dist": "mocha dist/test", "build": "tsc"}}
    contents = {
        ".github/workflows/ci.yml": json.dumps({"on": "push", "jobs": jobs}).encode(),
        "package.json": json.dumps(package).encode(),
        "package-lock.json": b"{}",
        "here/x.py": b"",
        "member/package.json": b'{"name": "member"}',
        "Makefile": b"check:\n\t./tool check\n",
    }
    failed = listed[-1]
    hints = JobHints(job_name="check", step_name=failed.get("name", f"Run {failed.get('run')}"))
    return "; ".join(plan_recipe(hints, contents.keys(), contents).obstacles)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((CLONE, "pytest data/tests"), "`git clone"),
        ((f"{CLONE} sub/other\ncd sub/other\npytest",), "`git clone"),
        ((CLONE, "cp data/x y", "pytest"), "`git clone"),
        ((CLONE, {"run": "pytest", "name": "t", "working-directory": "data"}), "`git clone"),
        ((CLONE, "pytest"), ""),
        ((CLONE, "pytest tests/data"), ""),
        ((f"{CLONE} here", "pytest here"), ""),
        ((f"{CLONE} /tmp/other", "pytest"), ""),
        ((download(name="n", path="dist"), "npm run test:dist"), "the artifact dist"),
        ((download(name="n", path="./lib/"), "pytest ./lib/tests"), "the artifact"),
        ((download(name="n", path="dist"), "npm run build", "mocha test"), ""),
        ((download(name="build"), "npm run build", "mocha test"), ""),
        ((download(name="wheels", path="dist"), "pip install dist/*.whl", "pytest"), ""),
        ((download(), "pytest"), "all artifacts"),
        ((download(), "ruff check"), ""),
        ((download(name="tool"), "chmod +x tool", "make check"), "the artifact tool"),
        (("go install example.org/x/golint/v2@latest", "golint ./..."), "needs golint"),
        (("go install example.org/x/golint@latest", "go test ./golint/..."), ""),
        (("npm i -D typescript@latest -w member", "cd member && mocha"), "adds"),
        (("npm i -D typescript@latest -w member", "mocha"), ""),
        (("npm i -g npm@latest", "mocha"), ""),
        (("npm i ./x-1.0.0.tgz", "mocha"), "the archive ./x-1.0.0.tgz"),
        (("cd here && npm i ../x.tgz", "mocha"), ""),
        (("cd here && npm i ../x.tgz", "cd here && mocha"), "the archive ../x.tgz"),
        (("npm i ./x.tgz", "eslint ."), ""),
        (({"run": "check-wheel-contents dist/*.whl", "name": "lint"},), "dist/*.whl"),
        (("node --test dist/*.test.js",), "dist/*.test.js"),
        (("pytest --ignore=dist/* --ignore-glob 'dist/*'",), ""),
        (("npx mocha '!dist/**' -x 'dist/*'",), ""),
        (("npx prettier --check 'dist/*'",), ""),
        ((download(name="n", path="dist"), "eslint . --ignore-pattern dist"), ""),
        (("npm run build", "node --test dist/*.test.js"), ""),
    ],
)
def test_what_a_check_uses_is_named(steps: tuple[str | dict[str, Any], ...], words: str) -> None:
    found = obstacles(*steps)
    assert words in found
    assert bool(found) is bool(words)


@pytest.mark.parametrize(
    ("inputs", "check", "is_needed"),
    [
        ({"name": "a"}, "mocha packages/x/dist/test", True),
        ({"name": "a"}, "mocha test", False),
        ({"name": "b"}, "./tool test", True),
        ({}, "mocha test", False),
        ({}, "mocha dist", True),
    ],
)
def test_what_an_artifact_holds_is_known_from_its_upload(
    inputs: dict[str, str], check: str, *, is_needed: bool
) -> None:
    uploads = (
        upload(name="a", path="packages/*/dist\n!packages/no"),
        upload(name="b", path="target/release/tool"),
    )
    assert bool(obstacles(download(**inputs), check, uploads=uploads)) is is_needed


SECRET = {"TOKEN": "${{ secrets.TOKEN }}"}


@pytest.mark.parametrize(
    ("script", "is_needed"),
    [
        ("pytest --token $TOKEN", True),
        ("pytest --token=${TOKEN}", True),
        ("pytest --token=${TOKEN:-none}", False),
        ("pytest", False),
        ("deploy --token $TOKEN\npytest", False),
        ("TOKEN=x\npytest --token $TOKEN", False),
    ],
)
def test_a_value_that_a_check_names_and_only_github_knows(script: str, *, is_needed: bool) -> None:
    found = obstacles({"run": script, "name": "test", "env": SECRET})
    assert ("TOKEN: secrets.TOKEN" in found) is is_needed
    assert bool(found) is is_needed
