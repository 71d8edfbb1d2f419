"""One bare repository and the git plumbing that reads and writes it: the only truth about refs, trees and commits."""

import os
import shlex
import subprocess
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.github_server.gitdiff import Change, read_changes

ZERO = "0" * 40
PRE_RECEIVE = """#!/bin/sh
# GitHub refuses a push that brings workflow files when the token has no `workflows` permission, and moves of branches
# that break a rule.
while read -r old new ref; do
  case " $LOCAL_GITHUB_RULED " in *" $ref "*)
    echo "error: GH013: Repository rule violations found for $ref." >&2
    exit 1 ;;
  esac
  [ "$LOCAL_GITHUB_WORKFLOWS" = refuse ] || continue
  case "$new" in 0000000000000000000000000000000000000000) continue ;; esac
  file=$(git log --format= --name-only "$new" --not --all -- .github/workflows | sort -u | head -n 1)
  if [ -n "$file" ]; then
    echo "refusing to allow a GitHub App to create or update workflow \\`$file\\` without \\`workflows\\` permission" >&2
    exit 1
  fi
done
"""


class GitFailed(Exception):
    """A git command ended with a status other than zero."""


@dataclass(frozen=True, slots=True)
class Person:
    """An author or committer as git stores it."""

    name: str
    email: str
    date: str

    def environment(self, role: str) -> dict[str, str]:
        """The variables `git commit-tree` reads for a role (AUTHOR or COMMITTER)."""
        return {
            f"GIT_{role}_NAME": self.name,
            f"GIT_{role}_EMAIL": self.email,
            f"GIT_{role}_DATE": self.date,
        }


@dataclass(frozen=True, slots=True)
class Commit:
    """What `git cat-file commit` says, with dates in GitHub's form."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of `git ls-tree`."""

    mode: str
    type: str
    sha: str
    size: int | None
    path: str


def utc(moment: datetime) -> str:
    """GitHub's form of a point in time: whole seconds and a Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime:
    """The point in time behind GitHub's form of it."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def git_environment() -> dict[str, str]:
    """An environment in which no configuration of the host reaches git."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": tempfile.gettempdir(),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C.UTF-8",
    }


class GitStore:
    """A bare repository."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Commits and the difference of two commits never change, and a process start is the price of asking git again.
        self._commits: dict[str, Commit] = {}
        self._changes: dict[tuple[str, str], list[Change]] = {}
        self._merges: dict[tuple[str, str], str | None] = {}
        self.signed: set[str] = set()

    @classmethod
    def create(cls, path: Path, default_branch: str) -> "GitStore":
        """Make an empty bare repository that GitHub's kind of client may fetch from and push to."""
        path.mkdir(parents=True)
        store = cls(path)
        store.run("init", "--quiet", "--bare", f"--initial-branch={default_branch}")
        settings = {
            "http.receivepack": "true",
            "uploadpack.allowFilter": "true",
            "uploadpack.allowAnySHA1InWant": "true",
            "gc.auto": "0",
            "receive.autogc": "false",
            "core.logAllRefUpdates": "false",
        }
        with (path / "config").open("a", encoding="utf-8") as file:
            for key, value in settings.items():
                section, name = key.split(".")
                file.write(f"[{section}]\n\t{name} = {value}\n")
        hook = path / "hooks" / "pre-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(PRE_RECEIVE, encoding="utf-8")
        hook.chmod(0o755)
        return store

    def run(
        self, *arguments: str, data: bytes | None = None, env: dict[str, str] | None = None
    ) -> bytes:
        """Run git in this repository.

        Raises:
            GitFailed: the command did not end with 0.
        """
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            input=data,
            env={**git_environment(), **(env or {})},
            capture_output=True,
            check=False,
            stdin=None if data is not None else subprocess.DEVNULL,
        )
        if done.returncode:
            raise GitFailed(
                f"git {shlex.join(arguments[:3])}: {done.stderr.decode(errors='replace').strip()}"
            )
        return done.stdout

    def text(self, *arguments: str) -> str:
        """The stripped output of a git command."""
        return self.run(*arguments).decode("utf-8", "replace").strip()

    # --- refs ---------------------------------------------------------------------------------

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """All refs under a prefix with their objects."""
        lines = self.text("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        pairs = (line.split(" ") for line in lines)
        return {name: sha for name, sha in pairs if name.startswith(prefix)}

    def resolve(self, name: str, kind: str = "commit") -> str | None:
        """The object behind a branch, a tag, a ref or a SHA, or nothing."""
        if not name or "\n" in name:
            return None
        wanted = "".join(
            f"{one}^{{{kind}}}\n" for one in (f"refs/heads/{name}", f"refs/tags/{name}", name)
        )
        # One process for the three: a line is "<sha> <type> <size>", or says that there is none.
        found = (
            self.run("cat-file", "--batch-check", data=wanted.encode())
            .decode("utf-8", "replace")
            .splitlines()
        )
        return next((line.split()[0] for line in found if line.split()[-2:-1] == [kind]), None)

    def ref(self, full_name: str) -> str | None:
        """What a full ref name points at."""
        try:
            return self.text("show-ref", "--verify", "--hash", full_name) or None
        except GitFailed:
            return None

    def valid_ref(self, full_name: str) -> bool:
        """Whether git accepts the name."""
        try:
            self.run("check-ref-format", full_name)
        except GitFailed:
            return False
        return True

    def set_ref(self, full_name: str, sha: str | None) -> None:
        """Point a ref at an object, or remove it."""
        arguments = ("-d", full_name) if sha is None else (full_name, sha)
        self.run("update-ref", *arguments)

    # --- objects ------------------------------------------------------------------------------

    def has(self, sha: str, kind: str) -> bool:
        """Whether an object of this kind exists."""
        return len(sha) == 40 and self.resolve(sha, kind) is not None

    def blob(self, sha: str) -> bytes:
        """The bytes of a blob."""
        return self.run("cat-file", "blob", sha)

    def write_blob(self, content: bytes) -> str:
        """Store bytes."""
        return self.run("hash-object", "-w", "--stdin", data=content).decode().strip()

    def tree(self, treeish: str, path: str = "", *, recursive: bool = False) -> list[Entry]:
        """The entries of a tree (a folder's own entries, or everything below it)."""
        spec = f"{treeish}:{path}" if path else treeish
        arguments = ["ls-tree", "-z", "-l", *(["-r", "-t"] if recursive else []), spec]
        entries = []
        for line in self.run(*arguments).split(b"\0"):
            if not line:
                continue
            meta, name = line.decode("utf-8", "surrogateescape").split("\t", 1)
            mode, kind, sha, size = meta.split()
            entries.append(Entry(mode, kind, sha, int(size) if size.isdigit() else None, name))
        return entries

    def write_tree(self, base: str | None, changes: list[tuple[str, str, str | None]]) -> str:
        """A tree from a base and (mode, path, object or nothing to remove) lines."""
        with tempfile.TemporaryDirectory() as folder:
            env = {"GIT_INDEX_FILE": f"{folder}/index"}
            self.run("read-tree", *([base] if base else ["--empty"]), env=env)
            lines = [
                f"{mode if sha else '0'} {sha or ZERO}\t{path}\0" for mode, path, sha in changes
            ]
            self.run("update-index", "-z", "--index-info", data="".join(lines).encode(), env=env)
            return self.run("write-tree", env=env).decode().strip()

    def write_commit(
        self,
        tree: str,
        parents: list[str],
        message: str,
        author: Person,
        committer: Person | None = None,
    ) -> str:
        """A commit object; no ref moves."""
        env = {**author.environment("AUTHOR"), **(committer or author).environment("COMMITTER")}
        arguments = ["commit-tree", tree]
        for parent in parents:
            arguments += ["-p", parent]
        return self.run(*arguments, data=message.encode(), env=env).decode().strip()

    def merge(self, base: str, head: str, message: str, author: Person) -> str | None:
        """The commit that merges a head into a base, or nothing when they conflict."""
        if (base, head) not in self._merges:
            try:
                tree = self.text("merge-tree", "--write-tree", base, head).splitlines()[0]
                self._merges[base, head] = self.write_commit(tree, [base, head], message, author)
            except GitFailed:
                self._merges[base, head] = None
        return self._merges[base, head]

    def commit(self, sha: str) -> Commit:
        """Read a commit."""
        if sha not in self._commits:
            self._commits[sha] = self._read_commit(sha)
        return self._commits[sha]

    def _read_commit(self, sha: str) -> Commit:
        form = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B"
        raw = self.run("show", "-s", f"--format={form}", "--end-of-options", sha).decode(
            "utf-8", "replace"
        )
        full, tree, parents, name, email, date, c_name, c_email, c_date, message = raw.split(
            "\0", 9
        )
        return Commit(
            full,
            tree,
            tuple(parents.split()),
            Person(name, email, utc(datetime.fromtimestamp(int(date), UTC))),
            Person(c_name, c_email, utc(datetime.fromtimestamp(int(c_date), UTC))),
            message.strip("\n"),
        )

    # --- history ------------------------------------------------------------------------------

    def history(self, *range_: str, limit: int = 250) -> list[str]:
        """Commits of a range, newest first."""
        return self.text("rev-list", f"--max-count={limit}", "--end-of-options", *range_).split()

    def merge_base(self, one: str, other: str) -> str | None:
        """The best common ancestor."""
        try:
            return self.text("merge-base", one, other) or None
        except GitFailed:
            return None

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether moving a branch from `old` to `new` is a fast-forward."""
        return self.merge_base(old, new) == old

    def changes(self, base: str, head: str) -> list[Change]:
        """Files that differ between two commits, with patches."""
        if (base, head) not in self._changes:
            self._changes[base, head] = self._read_changes(base, head)
        return self._changes[base, head]

    def _read_changes(self, base: str, head: str) -> list[Change]:
        common = ("diff", "--no-color", "--no-ext-diff", "-M")
        raw = self.run(*common, "--raw", "-z", "--no-abbrev", base, head).decode(
            "utf-8", "surrogateescape"
        )
        numbers = self.text(*common, "--numstat", base, head).splitlines()
        patches = self.run(*common, base, head).decode("utf-8", "replace")
        return read_changes(raw, numbers, patches)
