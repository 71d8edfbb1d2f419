"""Read a repository's settings of package managers: only those that change what is installed.

`.npmrc`, `.yarnrc.yml` and `pnpm-workspace.yaml` belong to the repository. They could name another
registry, a program to run or a credential, so that only listed settings are kept, as new text.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sandbox.recipe.files import CheckoutFiles, beside
from sandbox.setup.node.layout import NODE_FILES, Manager

_NPMRC = re.compile(
    r"(legacy-peer-deps|strict-peer-deps|auto-install-peers|strict-peer-dependencies"
    r"|dedupe-peer-dependents|node-linker|hoist|shamefully-hoist|hoist-pattern(?:\[\])?"
    r"|public-hoist-pattern(?:\[\])?|link-workspace-packages|prefer-workspace-packages"
    r"|shared-workspace-lockfile|resolution-mode|save-exact|install-links|install-strategy"
    r"|exclude-links-from-lockfile|peers-suffix-max-length"
    r"|inject-workspace-packages|dedupe-injected-deps|disallow-workspace-cycles)"
    r"=([\w@*./!,-]{0,200})"
)
_ADDRESSES = ("registry=", "_auth", "_password", "proxy", "cafile", "script-shell", "pnpmfile")
_REGISTRY = re.compile(rb"registr|npmScopes", re.IGNORECASE)
_REGISTRY_OF_JOB = re.compile(
    rb"registry-url|npm_config_\S{0,60}registry|YARN_\w{0,60}REGISTRY|npmRegistryServer|npmScopes"
    rb"|:registry\b|--registry\b|\bregistry[=\s]+[\"']?(?:https?:|\$)"
    rb"|\.(?:npm|yarn)rc\b|\bbunfig\b",
    re.IGNORECASE,
)
"""A registry in a workflow or script, or a file of settings that it may write."""
_SCRIPT = re.compile(
    r"\.github/actions/.*|(?:.*/)?action\.ya?ml|.*\.(?:sh|bash)|(?:.*/)?(?:GNU)?[Mm]akefile"
    r"|(?:.*/)?\.?[Jj]ustfile|(?:scripts?|ci|bin)/[^/.]+"
)
"""Files that a job may run before its installation."""
_WORKFLOWS = ".github/workflows/"
_CHOOSES = re.compile(
    rb"^pnpmfileChecksum:|minimum-?release-?age|min-release-age|npmMinimalAgeGate|trust-?policy"
    rb"|^[ \t]*before\s*=|resolutionMode",
    re.IGNORECASE | re.MULTILINE,
)
"""Hooks, and settings that refuse or prefer versions, as those of the last days."""
_HOOKS = (".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js")
_UNREAD = (".yarnrc", "bunfig.toml")
"""Settings that may name a registry and are not read here."""
PNPM_WORKSPACE = "pnpm-workspace.yaml"
SETTINGS = (".npmrc", ".yarnrc.yml", PNPM_WORKSPACE)
"""Files with settings of package managers that are read."""
PNPM_SETTINGS = (
    *("packages", "catalog", "catalogs", "overrides", "patchedDependencies", "packageExtensions"),
    *("nodeLinker", "hoist", "hoistPattern", "publicHoistPattern", "shamefullyHoist"),
    *(
        "linkWorkspacePackages",
        "autoInstallPeers",
        "strictPeerDependencies",
        "peersSuffixMaxLength",
    ),
    *("ignoredOptionalDependencies", "allowUnusedPatches", "sharedWorkspaceLockfile"),
    *("injectWorkspacePackages", "dedupePeerDependents", "excludeLinksFromLockfile"),
    *("peerDependencyRules", "allowedDeprecatedVersions"),
)
"""Settings of pnpm. `pnpmfile` and `configDependencies` would run code while it fetches."""
_YARNRC = (
    *("compressionLevel", "supportedArchitectures", "defaultSemverRangePrefix"),
    *("packageExtensions", "nmHoistingLimits", "nmSelfReferences", "catalog", "catalogs"),
)


def read_npmrc(files: CheckoutFiles, folder: str) -> tuple[str, ...]:
    """Return the settings of `.npmrc` that are obeyed; others are noted in the log."""
    path = beside(folder, ".npmrc")
    lines = ["".join(line.split()) for line in files.text(path).splitlines()[:200]]
    if any(word in line for line in lines for word in _ADDRESSES):
        files.log.dropped(path, "registries and credentials of the repository are not used")
    return tuple(line for line in lines if _NPMRC.fullmatch(line))


def settings_files(files: CheckoutFiles, folder: str, manager: Manager) -> dict[str, str]:
    """Return a project's settings of its package manager as files for the set-up."""
    found: dict[str, str] = {}
    if manager == "pnpm":
        if lines := read_npmrc(files, folder):
            found[".npmrc"] = "\n".join(lines) + "\n"
        path = beside(folder, PNPM_WORKSPACE)
        if path in files.contents:
            found[PNPM_WORKSPACE] = _chosen(files.yaml(path), PNPM_SETTINGS)
    if manager == "yarn" and (settings := files.yaml(beside(folder, ".yarnrc.yml"))):
        found[".yarnrc.yml"] = _chosen(settings, _YARNRC)
    return {f"{NODE_FILES}{beside(folder, name)}": text for name, text in found.items()}


def other_registry(
    names: Collection[str], contents: Mapping[str, bytes], folder: str, workflows: Sequence[str]
) -> str | None:
    """Return the file that may name another registry than the manager's default; None if none does.

    Args:
        names: The files of the checkout.
        contents: Those that are read.
        folder: The folder of the packages.
        workflows: Those that lead to the job; an empty sequence considers all of the checkout.
    """
    for place in _folders_above(folder):
        for path in (beside(place, name) for name in (*SETTINGS, *_UNREAD)):
            # A file that is there and not read may name anything.
            if path in names and (path not in contents or _REGISTRY.search(contents[path])):
                return path
    run = [*workflows] or [path for path in contents if path.startswith(_WORKFLOWS)]
    run += [path for path in contents if _SCRIPT.fullmatch(path)]
    for path in run:
        # A workflow of another repository may name anything: its text is not among the files.
        if path not in contents or _REGISTRY_OF_JOB.search(contents[path]):
            return path
    return None


def unused_choice(names: Collection[str], contents: Mapping[str, bytes], folder: str) -> str | None:
    """Return the file that chooses versions in a way that the set-up does not use; None without.

    Args:
        names: The files of the checkout.
        contents: Those that are read.
        folder: The folder of the packages.
    """
    for place in _folders_above(folder):
        for path in (beside(place, name) for name in _HOOKS):
            if path in names:
                return path
        for path in (beside(place, name) for name in (*SETTINGS, "package.json", "pnpm-lock.yaml")):
            if _CHOOSES.search(contents.get(path, b"")):
                return path
    return None


def _folders_above(folder: str) -> tuple[str, ...]:
    """Return a folder and all above it: managers read the settings of each."""
    parents = [folder[: end.start()] for end in re.finditer("/", folder)]
    return tuple(dict.fromkeys((folder, *parents, ".")))


def _chosen(table: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the listed settings; JSON is valid YAML."""
    return json.dumps({name: table[name] for name in names if name in table}, sort_keys=True)
