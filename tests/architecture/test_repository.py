"""What stands in no file, what the lock files hold, and how workflows name what they use."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.architecture.tracked import ROOT, text_of, tracked

# Written in pieces, so that this file does not hold what it looks for.
HOSTS = [
    r"py" + r"pi\.org",
    r"python" + r"hosted\.org",
    r"npm" + r"js\.(?:org|com)",
    r"ghcr" + r"\.io",
    r"docker" + r"\.io/",
    r"quay" + r"\.io",
    r"gcr" + r"\.io",
    r"deb" + r"ian\.org",
    r"proxy\.go" + r"lang",
    r"ana" + r"conda\.(?:org|com)",
]
MACHINES = [
    r"/Us" + r"ers/\w",
    r"/ro" + r"ot/\w",
    r"/ho" + r"me/(?!sandbox\b|x\b|a/b\.txt)\w+/",
    r"/wo" + r"rk/(?:main|shared|\.lib)",
    r"[A-Z]:\\" + r"Users",
]
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-model.lock"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def mentions(patterns: list[str]) -> list[str]:
    """Every `file:line` that holds one of them."""
    wanted = re.compile("|".join(patterns))
    return [
        f"{path.relative_to(ROOT)}:{number}: {found.group()}"
        for path in tracked()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if (found := wanted.search(line))
    ]


def test_no_file_names_a_package_registry() -> None:
    assert mentions(HOSTS) == []


def test_no_file_names_a_developers_machine() -> None:
    assert mentions(MACHINES) == []


def test_the_patterns_would_notice() -> None:
    assert re.search("|".join(HOSTS), "--index-url https://" + "py" + "pi.org/simple")
    assert re.search("|".join(MACHINES), "/ho" + "me/ann/project")
    assert not re.search(
        "|".join([*HOSTS, *MACHINES]), "apt-get install docker" + ".io; cd /home/sandbox /work/repo"
    )


def test_nothing_reads_the_data_folder_but_tests() -> None:
    readers = [p for p in tracked("bot", "sandbox", "scripts") if "../sha" + "red" in text_of(p)]
    assert readers == []


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_file_holds_hashes_and_no_addresses(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    options = {
        word for line in text.splitlines() for word in re.findall(r"(?<![\w-])--[a-z][\w-]*", line)
    }
    assert options <= {"--hash"}
    entries = re.split(r"\n(?=[A-Za-z0-9])", "\n" + text)[1:]
    assert len(entries) > 1
    for entry in entries:
        head = entry.splitlines()[0]
        assert re.match(r"^[A-Za-z0-9._-]+(\[[\w,-]+\])?==[^\s;]+( ; .+?)? \\$", head), head
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), head


def test_the_lock_of_development_holds_all_of_the_services_lock() -> None:
    pinned = [
        dict(
            re.findall(r"^([\w.-]+)(?:\[[^]]*\])?==(\S+)", (ROOT / name).read_text(), re.MULTILINE)
        )
        for name in LOCKS
    ]
    assert pinned[0].items() <= pinned[1].items()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_names_every_action_by_its_commit(path: Path) -> None:
    for line in path.read_text().splitlines():
        used = re.search(r"uses:\s*(\S+)(.*)", line)
        if used and not used.group(1).startswith("./"):
            assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", used.group(1)), line
            assert re.match(r"\s+# v\d", used.group(2)), f"say which version that is: {line}"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_has_no_rights_but_those_a_job_asks_for(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert "timeout-minutes" in job, name
        for step in job.get("steps", []):
            if str(step.get("uses", "")).startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_a_workflow_runs_what_a_person_can_run(path: Path) -> None:
    for job in yaml.safe_load(path.read_text())["jobs"].values():
        for step in job.get("steps", []):
            if "run" in step and "RESULTS" not in step.get("env", {}):
                assert step["run"].startswith(("make ", "./")), step["run"]


def test_a_release_of_another_version_than_its_tag_is_refused() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "build-release", Path(sys.executable).parent.parent],
        cwd=ROOT,
        env={**os.environ, "GITHUB_REF_TYPE": "tag", "GITHUB_REF_NAME": "v0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "the tag v0.0.1 is not version" in done.stderr


def test_a_release_is_published_by_its_environment_alone_and_after_its_wheel() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    for name in ("index", "image"):
        assert (jobs[name]["needs"], jobs[name]["environment"]) == ("wheel", "release"), name


def test_the_installer_and_the_build_come_from_the_lock_file() -> None:
    lock = (ROOT / "requirements-dev.lock").read_text()
    assert all(re.search(rf"^{name}==", lock, re.MULTILINE) for name in ("uv", "hatchling"))
    for name in ("make-venv", "build-release", "build-service-image"):
        for line in (ROOT / "scripts" / name).read_text().splitlines():
            if " pip install" in line or '/uv" build' in line:
                assert "--require-hashes" in line or "--no-build-isolation" in line, line


@pytest.mark.parametrize(("registry", "status"), [("Images.Example", 0), ("", 1)])
def test_the_image_s_name_is_in_lower_case(tmp_path: Path, registry: str, status: int) -> None:
    outputs = tmp_path / "outputs"
    variables = {
        "IMAGE_REGISTRY": registry,
        "GITHUB_REPOSITORY": "Octo/MetaAgent",
        "GITHUB_REF_NAME": "v1.2.3",
        "GITHUB_OUTPUT": str(outputs),
    }
    done = subprocess.run(
        [ROOT / "scripts" / "image-name"], env={**os.environ, **variables}, check=False
    )
    assert done.returncode == status
    if status == 0:
        assert outputs.read_text() == "name=images.example/octo/metaagent:v1.2.3\n"


GH = """#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in *matching-refs*) printf 'refs/tags/%s\\n' $TAGS ;; *POST*) ;; *) exit 1 ;; esac
"""


@pytest.mark.parametrize(
    ("tag", "others", "moves"),
    [
        ("v1.10.0", "v1.9.0", True),
        ("v1.2.9", "v1.3.0 v1.2.8", False),
        ("v1.4.0-rc.1", "v1.3.0", False),
        ("v1.0.0", "v1.0.0-rc.1", True),
    ],
)
def test_the_major_tag_moves_to_the_newest_release_only(
    tmp_path: Path, tag: str, others: str, *, moves: bool
) -> None:
    gh, calls = tmp_path / "gh", tmp_path / "calls"
    gh.write_text(GH)
    gh.chmod(0o755)
    variables = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CALLS": str(calls),
        "TAGS": f"{tag} {others}",
        "GITHUB_REPOSITORY": "octo/metaagent",
        "GITHUB_REF_NAME": tag,
        "GITHUB_SHA": "a" * 40,
    }
    script = ROOT / "scripts" / "move-major-tag"
    subprocess.run([script], env={**os.environ, **variables}, check=True)
    made = [line for line in calls.read_text().splitlines() if "POST" in line]
    assert made == (
        [f"api --method POST repos/octo/metaagent/git/refs -f ref=refs/tags/v1 -f sha={'a' * 40}"]
        if moves
        else []
    )
    gh.write_text("#!/bin/sh\nexit 1\n")
    failed = subprocess.run([script], env={**os.environ, **variables}, check=False)
    assert failed.returncode != 0, "a list that cannot be read moves nothing"
