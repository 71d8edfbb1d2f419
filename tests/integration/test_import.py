"""The import of one commit: real git over real HTTP on loopback."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from sandbox.archive import take_archive
from sandbox.backends.owners import owner
from sandbox.checkout import CommitSource
from sandbox.errors import ImportRejected
from sandbox.importer import ImportedRepository, Importer
from sandbox.spec import SandboxSpec
from sandbox.types import GitSource
from tests.integration.git_http import GitServer, commit, git, serve_git

TOKEN = "basic c2VjcmV0LXRva2VuLTEyMzQ1Njc4OTA="


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "served"


@pytest.fixture
def server(root: Path) -> Iterator[GitServer]:
    root.mkdir()
    with serve_git(root) as running:
        yield running


def source(
    server: GitServer, sha: str, *, base: str | None = None, authorization: str | None = None
) -> GitSource:
    secret = SecretStr(authorization) if authorization else None
    url = f"{server.url}/r/.git"
    return GitSource(url=url, sha=sha, base_sha=base, authorization=secret, repository_id="1")


async def fetch(
    tmp_path: Path, wanted: GitSource, spec: SandboxSpec | None = None
) -> ImportedRepository:
    return await Importer(tmp_path / "imports", spec or SandboxSpec()).fetch(wanted)


def processes() -> dict[Path, bytes]:
    """The argument lists of all processes of this host, by where they were read."""
    return {path: read(path) for path in Path("/proc").glob("[0-9]*/cmdline")}


def read(path: Path) -> bytes:
    """A file that may go away any moment."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.anyio
async def test_a_commit_comes_with_its_first_parent_and_what_it_changed(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    commit(root / "r", {"old.py": "1\n"})
    parent = commit(root / "r", {"m.py": "a\nb\nc\n", "gone.py": "x\n"})
    head = commit(
        root / "r", {"m.py": "a\nB\nc\nd\n", "gone.py": None, "new file.py": "x\n", "run.sh": "x"}
    )
    repository = await fetch(tmp_path, source(server, head))
    assert (repository.head_sha, repository.base_sha) == (head, parent)
    assert repository.red_diff.files == {"m.py": (2, 4), "new file.py": (1,), "run.sh": (1,)}
    assert [(h.path, h.line, h.before) for h in repository.red_diff.hunks] == [
        ("m.py", 2, "b\n"), ("m.py", 4, ""), ("new file.py", 1, ""),
    ]  # fmt: skip
    assert set(repository.files) == {"old.py", "m.py", "new file.py", "run.sh"}
    assert set(repository.tree("base")) == {"old.py", "m.py", "gone.py"}
    oid = repository.tree("base")["m.py"].oid
    assert repository.read([oid, repository.files["run.sh"].oid])[oid] == b"a\nb\nc\n"


@pytest.mark.anyio
async def test_a_named_base_is_fetched_too_and_a_lost_one_gives_way_to_the_parent(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    first = commit(root / "r", {"m.py": "1\n"})
    parent = [commit(root / "r", {"m.py": f"1\n{number}\n"}) for number in range(5)][-1]
    head = commit(root / "r", {"m.py": "1\n2\n3\n"})
    assert (await fetch(tmp_path, source(server, head, base=first))).red_diff.files == {
        "m.py": (2, 3)
    }
    assert (await fetch(tmp_path, source(server, head, base="0" * 40))).base_sha == parent


@pytest.mark.anyio
async def test_a_first_commit_has_no_base(server: GitServer, root: Path, tmp_path: Path) -> None:
    repository = await fetch(tmp_path, source(server, commit(root / "r", {"m.py": "1\n"})))
    assert repository.base_sha is None
    with pytest.raises(ImportRejected, match="no base"):
        repository.sha("base")


@pytest.mark.anyio
async def test_what_was_fetched_is_not_fetched_again(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    wanted = source(server, commit(root / "r", {"m.py": "1\n"}))
    importer = Importer(tmp_path / "imports", SandboxSpec())
    one, two = await asyncio.gather(importer.fetch(wanted), importer.fetch(wanted))
    assert one is two
    count = len(server.requests)
    again = await fetch(tmp_path, wanted)
    assert len(server.requests) == count
    assert again.files == one.files
    assert again.bundle() == one.bundle()


@pytest.mark.anyio
async def test_a_placed_commit_is_known_by_its_history_too(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    first = commit(root / "r", {"m.py": "1\n"})
    second = commit(root / "r", {"m.py": "2\n"})
    # The same tree once more: commands may read what its message says.
    alike = commit(root / "r", {}, "another message")
    wanted = [source(server, second), source(server, alike), source(server, alike, base=first)]
    digests = [await CommitSource(await fetch(tmp_path, one), "head").digest() for one in wanted]
    digests.append(await CommitSource(await fetch(tmp_path, wanted[0]), "base").digest())
    assert len(set(digests)) == len(digests)
    elsewhere = await fetch(tmp_path / "other", wanted[2])
    assert await CommitSource(elsewhere, "head").digest() == digests[2]


@pytest.mark.anyio
async def test_what_was_used_longest_ago_goes_first(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    shas = [commit(root / "r", {"m.bin": os.urandom(50_000)}) for _ in range(4)]
    for sha in shas:
        await Importer(tmp_path / "imports", SandboxSpec(), keep_bytes=250_000).fetch(
            source(server, sha)
        )
    kept = list((tmp_path / "imports").iterdir())
    assert 1 <= len(kept) < 4
    count = len(server.requests)
    await fetch(tmp_path, source(server, shas[-1]))
    assert len(server.requests) == count


@pytest.mark.anyio
async def test_the_bundle_holds_both_commits_and_the_cut_history(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    commit(root / "r", {"m.py": "1\n"})
    parent = commit(root / "r", {"m.py": "2\n"})
    head = commit(root / "r", {"m.py": "3\n"})
    repository = await fetch(tmp_path, source(server, head))
    (tmp_path / "bundle").write_bytes(repository.bundle())
    listed = git(tmp_path, "bundle", "list-heads", str(tmp_path / "bundle"))
    assert {parent, head} == set(listed.split()[::2])
    assert repository.shallow().decode().split() == [parent]


@pytest.mark.anyio
async def test_the_authorization_reaches_the_server_and_nothing_else(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    server.authorization = TOKEN
    wanted = source(server, commit(root / "r", {"m.py": "1\n"}), authorization=TOKEN)
    repository = await fetch(tmp_path, wanted)
    assert {seen for _, seen in server.requests} == {TOKEN}
    for path in (tmp_path / "imports").rglob("*"):
        if path.is_file():
            assert b"c2VjcmV0" not in path.read_bytes(), path
    assert b"c2VjcmV0" not in repository.bundle()


@pytest.mark.anyio
async def test_the_authorization_is_in_no_argument_list(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    server.authorization, server.delay_s = TOKEN, 0.3
    wanted = source(server, commit(root / "r", {"m.py": "1\n"}), authorization=TOKEN)
    task = asyncio.create_task(fetch(tmp_path, wanted))
    seen = []
    while not task.done():
        seen += list(processes().values())
        await asyncio.sleep(0.02)
    await task
    assert any(b"fetch" in line and b"--depth=2" in line for line in seen)
    assert not any(b"c2VjcmV0" in line for line in seen)


@pytest.mark.anyio
async def test_nothing_of_this_process_reaches_git(
    server: GitServer, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METAAGENT_PRIVATE_KEY", "canary-key-0123456789")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    server.delay_s = 0.3
    task = asyncio.create_task(
        fetch(tmp_path, source(server, commit(root / "other", {"m.py": "1\n"})))
    )
    environments: list[bytes] = []
    while not task.done():
        fetching = [path for path, line in processes().items() if b"git-remote-http" in line]
        environments += [read(path.with_name("environ")) for path in fetching]
        await asyncio.sleep(0.02)
    with pytest.raises(ImportRejected):
        await task
    assert environments
    assert not any(b"canary-key" in environment for environment in environments)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("authorization", "sha", "said"),
    [("basic wrong", None, "refuses access"), (TOKEN, "1" * 40, "does not exist")],
)
@pytest.mark.anyio
async def test_a_fetch_that_fails_says_why_without_the_token(
    server: GitServer, root: Path, tmp_path: Path, authorization: str, sha: str | None, said: str
) -> None:
    server.authorization = TOKEN
    head = commit(root / "r", {"m.py": "1\n"})
    with pytest.raises(ImportRejected, match=said) as caught:
        await fetch(tmp_path, source(server, sha or head, authorization=authorization))
    assert authorization not in str(caught.value)
    assert list((tmp_path / "imports").iterdir()) == []


@pytest.mark.anyio
async def test_a_repository_that_is_not_there_is_said(server: GitServer, tmp_path: Path) -> None:
    with pytest.raises(ImportRejected, match="repository does not exist"):
        await fetch(tmp_path, source(server, "1" * 40))


@pytest.mark.anyio
async def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    wanted = GitSource(url="http://127.0.0.1:9/r.git", sha="1" * 40, repository_id="1")
    with pytest.raises(ImportRejected, match="does not respond"):
        await fetch(tmp_path, wanted)


@pytest.mark.anyio
async def test_a_server_that_never_answers_is_given_up(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    sha = commit(root / "r", {"m.py": "1\n"})
    server.delay_s = 20.0
    with pytest.raises(ImportRejected, match="longer than 1 s"):
        await fetch(tmp_path, source(server, sha), SandboxSpec(fetch_wall_s=1.0))
    assert not [
        line
        for line in processes().values()
        if b"git-remote-http" in line and server.url.encode() in line
    ]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_files": 3}, "more than 3 files"),
        ({"max_blob_bytes": 99}, "larger"),
        ({"max_tree_bytes": 150}, "larger"),
    ],
)
@pytest.mark.anyio
async def test_a_repository_over_a_limit_is_refused(
    server: GitServer, root: Path, tmp_path: Path, limits: dict[str, int], said: str
) -> None:
    head = commit(root / "r", {f"{name}.txt": "x" * 100 for name in "abcde"})
    with pytest.raises(ImportRejected, match=said):
        await fetch(tmp_path, source(server, head), SandboxSpec.model_validate(limits))
    assert list((tmp_path / "imports").iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc",
        "ssh://git@example.org/r",
        "git@example.org:r",
        "ext::sh -c touch% /tmp/attack-marker",
        "http://example.org/r",
        "http://127.0.0.1.example.org/r",
        "https://user:pass@example.org/r",
        "https://user@example.org/r",
        "https://example.org/r?x=1",
        "https://example.org/r\n",
        "https://exa mple.org/r",
        "--upload-pack=touch /tmp/attack-marker",
        "https://",
        "https://example.org:x/r",
        "",
    ],
)
@pytest.mark.anyio
async def test_an_odd_address_is_refused_before_anything_runs(tmp_path: Path, url: str) -> None:
    with pytest.raises(ImportRejected) as caught:
        await fetch(tmp_path, GitSource(url=url, sha="1" * 40, repository_id="1"))
    assert "pass" not in str(caught.value).replace("Pass", "")
    assert not (tmp_path / "imports").exists()


@pytest.mark.anyio
async def test_a_header_of_two_lines_is_refused(server: GitServer, tmp_path: Path) -> None:
    with pytest.raises(ImportRejected, match="line break"):
        await fetch(tmp_path, source(server, "1" * 40, authorization="x\r\nHost: evil"))


@pytest.mark.anyio
async def test_submodules_links_and_odd_names_are_noted(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    folder = root / "r"
    commit(folder, {"m.py": "1\n", "M.PY": "2\n", "we\tird.py": "3\n"})
    (folder / "link").symlink_to("/etc/passwd")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub")
    git(folder, "add", "link")
    git(folder, "commit", "-q", "-m", "x")
    repository = await fetch(tmp_path, source(server, git(folder, "rev-parse", "HEAD")))
    assert set(repository.files) == {"m.py", "M.PY", "we\tird.py"}
    assert len(repository.notes) == 4
    archived = await take_archive(await CommitSource(repository, "head").archive(), SandboxSpec())
    assert set(archived.names()) == set(repository.files), (
        "links and submodules stay out of an archive"
    )


@pytest.mark.anyio
async def test_what_a_fetch_that_died_left_is_swept_by_the_next(
    server: GitServer, root: Path, tmp_path: Path
) -> None:
    sha = commit(root / "r", {"m.py": "1\n"})
    left, busy = tmp_path / "imports" / "fetching-left", tmp_path / "imports" / "fetching-busy"
    for folder, maker in ((left, f"{owner().rpartition('/')[0]}/1"), (busy, owner())):
        (folder / "repository.git").mkdir(parents=True)
        (folder / "owner").write_text(maker)
    await fetch(tmp_path, source(server, sha))
    assert (left.exists(), busy.exists()) == (False, True)
