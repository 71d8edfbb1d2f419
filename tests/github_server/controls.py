"""What a test or the demo does to the local GitHub from Python: people pushing, commenting, merging."""

from collections.abc import Mapping, Sequence

from tests.github_server import events, events_app
from tests.github_server.auth import job_token, token_for
from tests.github_server.entities import Ci, Installation, Repository
from tests.github_server.gitstore import GitStore
from tests.github_server.people import People

Files = Mapping[str, str | bytes | None]


class Controls(People):
    """The Python side of a running local GitHub. Repositories are named `owner/name`."""

    # --- repositories -------------------------------------------------------------------------

    def create_repository(
        self,
        owner: str,
        name: str,
        files: Files | None = None,
        *,
        ci: Ci | str | Sequence[Ci] | None = None,
        private: bool = False,
    ) -> Repository:
        """Make a repository with a first commit on `main`, with our App installed on the owner's account.

        Args:
            owner: the account, made when it is new, administrator of the repository.
            name: the repository's name.
            files: contents by path; the first commit is pushed like any other and so runs the CI.
            ci: a command, a workflow or several; without one the workflow files in the commit decide.
            private: whether strangers get 404.
        """
        with self.world.lock:
            repo = self.world.add_repository(owner, name, private=private)
            flows = (
                (Ci.command(ci),)
                if isinstance(ci, str)
                else (ci,)
                if isinstance(ci, Ci)
                else tuple(ci or ())
            )
            repo.ci, repo.more_ci = (flows[0], flows[1:]) if flows else (None, ())
            self.world.install(owner)
            if files:
                self.push(repo.full_name, "main", files, message="First commit", author=owner)
        return repo

    def repository(self, full_name: str) -> Repository:
        """A repository by name."""
        return self.world.named(full_name)

    def store(self, full_name: str) -> GitStore:
        """A repository's git."""
        return self.world.named(full_name).store

    def push(
        self,
        repo: str,
        branch: str,
        files: Files,
        message: str = "Change files",
        author: str | None = None,
        *,
        start: str | None = None,
        modes: Mapping[str, str] | None = None,
    ) -> str:
        """Commit files on a branch as a person, as a push would, and return the commit.

        Args:
            repo: `owner/name`.
            branch: made from `start` (a branch or SHA, else the default branch) when it is new.
            files: contents by path; None removes a file.
            message: the commit's message.
            author: the person; the owner by default.
            start: where a new branch begins.
            modes: git modes by path where they are not 100644.
        """
        with self.world.lock:
            found = self.world.named(repo)
            store, author = found.store, author or found.owner
            parent = store.ref(f"refs/heads/{branch}") or store.resolve(
                start or found.default_branch
            )
            changes: list[tuple[str, str, str | None]] = []
            for path, content in files.items():
                data = content.encode() if isinstance(content, str) else content
                mode = (modes or {}).get(path, "100644")
                changes.append((mode, path, None if data is None else store.write_blob(data)))
            tree = store.write_tree(parent, changes)
            sha = store.write_commit(
                tree, [parent] if parent else [], message, self.world.person(author)
            )
            events.set_branch(self.hub, found, f"refs/heads/{branch}", sha, author)
        return sha

    def files(self, repo: str, ref: str) -> dict[str, bytes]:
        """All files of a commit or branch."""
        store = self.store(repo)
        sha = store.resolve(ref) or ref
        return {
            one.path: store.blob(one.sha)
            for one in store.tree(sha, recursive=True)
            if one.type == "blob"
        }

    def fork(self, repo: str, owner: str) -> Repository:
        """A fork on another account, where our App is not installed."""
        with self.world.lock:
            parent = self.world.named(repo)
            fork = self.world.add_repository(
                owner, parent.name, private=parent.private, parent=parent
            )
            fork.store.run("fetch", "--quiet", str(parent.store.path), "+refs/heads/*:refs/heads/*")
            fork.default_branch = parent.default_branch
        return fork

    def rename(self, repo: str, name: str) -> None:
        """Rename a repository; the old name answers 301."""
        with self.world.lock:
            found = self.world.named(repo)
            self.world.renamed[found.full_name.lower()] = found.id
            found.name = name

    def delete_repository(self, repo: str) -> None:
        """Delete a repository (a fork whose pull request stays open, for example)."""
        with self.world.lock:
            del self.world.repositories[self.world.named(repo).id]

    # --- people -------------------------------------------------------------------------------

    def set_permission(self, repo: str, user: str, level: str) -> None:
        """Give a person admin, maintain, write, triage, read or none on a repository."""
        self.world.user(user)
        self.world.named(repo).permissions[user] = level

    def set_rules(self, repo: str, branch: str, *kinds: str) -> None:
        """Let a branch demand things (see `rules.REASONS`); what a test does by hand is not held to them."""
        self.world.named(repo).rules[branch] = kinds

    def user_token(self, login: str) -> str:
        """A personal token, for REST and git as this person."""
        return token_for(self.world, login)

    def job_token(self, repo: str, permissions: Mapping[str, str]) -> str:
        """A GITHUB_TOKEN as a job of this repository has it, with the permissions its workflow asks for."""
        return job_token(self.world, self.world.named(repo), dict(permissions)).value

    def suspend(self, owner: str, *, suspended: bool = True) -> None:
        """Suspend or unsuspend our App's installation on an account."""
        with self.world.lock:
            events_app.suspend(self.hub, self.world.install(owner), suspended=suspended)

    def install(self, owner: str, repos: Sequence[str] | None = None) -> Installation:
        """Install our App on an account that has it not, on all repositories or on chosen ones."""
        with self.world.lock:
            made = self.world.install(owner)
            made.repository_ids = (
                None if repos is None else {self.world.named(one).id for one in repos}
            )
            events_app.installation_event(self.hub, made, "created")
        return made

    def choose_repositories(
        self, owner: str, *, added: Sequence[str] = (), removed: Sequence[str] = ()
    ) -> None:
        """Give our App's installation (on chosen repositories from now on) more repositories or fewer."""
        with self.world.lock:
            installation = self.world.install(owner)
            if installation.repository_ids is None:
                mine = {
                    repo.id
                    for repo in self.world.repositories.values()
                    if repo.owner.lower() == owner.lower()
                }
                installation.repository_ids = mine
            plus, minus = ([self.world.named(one) for one in names] for names in (added, removed))
            events_app.select_repositories(self.hub, installation, plus, minus)

    def ping(self) -> None:
        """Send the event every hook begins with."""
        with self.world.lock:
            events_app.ping(self.hub)

    def uninstall(self, owner: str) -> None:
        """Remove our App from an account."""
        with self.world.lock:
            installation = self.world.install(owner)
            events_app.installation_event(self.hub, installation, "deleted")
            del self.world.installations[installation.id]
            for token in [
                one for one in self.world.tokens.values() if one.installation == installation.id
            ]:
                del self.world.tokens[token.value]

    def set_app_permissions(self, owner: str, permissions: Mapping[str, str]) -> None:
        """Grant an installation other permissions."""
        with self.world.lock:
            installation = self.world.install(owner)
            installation.permissions = dict(permissions)
            events_app.installation_event(self.hub, installation, "new_permissions_accepted")
