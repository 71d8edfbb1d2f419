"""Clients for tests of the local GitHub: githubkit as our App, and git as a developer; and a red repository."""

import base64
import subprocess
from pathlib import Path
from typing import Any

from githubkit import AppAuthStrategy, GitHub
from githubkit.utils import UNSET

from tests.github_server.gitstore import git_environment
from tests.github_server.server import LocalGitHub

RED = {
    "broken_math.py": "def add(a, b):\n    return a - b\n\n\ndef is_even(n):\n    return n % 2 == 1\n",
    "test_broken_math.py": (
        "from broken_math import add, is_even\n\n\n"
        "def test_add():\n    assert add(1, 2) == 3\n\n\n"
        "def test_zero():\n    assert add(1, 0) == 1\n\n\n"
        "def test_even():\n    assert is_even(2)\n"
    ),
}
GREEN = "def add(a, b):\n    return a + b\n\n\ndef is_even(n):\n    return n % 2 == 0\n"
TESTS = "python -m pytest -q"
REPO = "octo/math"


def app_client(github: LocalGitHub) -> Any:
    """Our App's githubkit client (untyped: tests look at the JSON)."""
    auth = AppAuthStrategy(github.app_id, github.private_key_pem)
    return GitHub(
        auth,
        base_url=github.api_url,
        # Certificates are read anew for every request otherwise, which takes longer than the request.
        ssl_verify=False,
        trust_env=False,
        auto_retry=False,
        http_cache=False,
        rest_api_validate_body=False,
    )


def installed(github: LocalGitHub, permissions: Any = UNSET) -> Any:
    """The githubkit client of the installation on `octo`."""
    client = app_client(github)
    number = client.rest.apps.get_repo_installation("octo", "math").json()["id"]
    return client.with_auth(client.auth.as_installation(number, permissions=permissions))


def token(github: LocalGitHub, **wanted: Any) -> str:
    """An installation token."""
    client = app_client(github)
    number = client.rest.apps.get_repo_installation("octo", "math").json()["id"]
    answer = client.rest.apps.create_installation_access_token(number, data=wanted).json()
    assert isinstance(answer["token"], str)
    return answer["token"]


def git(*arguments: str, cwd: Path) -> str:
    """Run git as a developer."""
    identity = ("-c", "user.name=Dev", "-c", "user.email=dev@example.com")
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=cwd,
        env=git_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def fix_by_data_api(client: Any, sha: str, branch: str, files: dict[str, str]) -> str:
    """A branch with one commit, made the way the bot makes it."""
    rest = client.rest
    entries = []
    for path, content in files.items():
        data = {"content": base64.b64encode(content.encode()).decode(), "encoding": "base64"}
        blob = rest.git.create_blob("octo", "math", data=data).json()["sha"]
        entries.append({"path": path, "mode": "100644", "type": "blob", "sha": blob})
    base = rest.git.get_commit("octo", "math", sha).json()["tree"]["sha"]
    tree = rest.git.create_tree("octo", "math", data={"base_tree": base, "tree": entries}).json()[
        "sha"
    ]
    commit = {"message": "Fix add", "tree": tree, "parents": [sha]}
    made = rest.git.create_commit("octo", "math", data=commit).json()["sha"]
    rest.git.create_ref("octo", "math", ref=f"refs/heads/{branch}", sha=made)
    assert isinstance(made, str)
    return made
