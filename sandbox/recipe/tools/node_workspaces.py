"""Find the packages of a workspace, and those that options like `--filter` select."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice

from sandbox.recipe.files import CheckoutFiles, beside, mapping, words
from sandbox.recipe.relevant import FOREIGN

_MOST_PATTERNS = 100
_DEEPEST = 6
"""Files in more folders than these are never read."""
_LONGEST_PATTERN = 200
_DEPENDENCIES = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_BRACES = re.compile(r"\{([^{},]{1,100}(?:,[^{},]{1,100}){0,20})\}")


def list_packages(files: CheckoutFiles, folder: str) -> list[str]:
    """Return the folders of a workspace's packages, dependencies first, without its top.

    Without a list of patterns every folder with a `package.json` counts.
    """
    return files.remember(
        ("packages", folder),
        lambda: _sorted(files, _package_places(files, folder, files.contents)),
    )


def _package_places(files: CheckoutFiles, folder: str, names: Collection[str]) -> list[str]:
    """Return the folders of a workspace's packages among some files."""
    prefix = "" if folder == "." else f"{folder}/"
    patterns = _patterns(files, folder)
    places = [
        name.rpartition("/")[0].removeprefix(prefix)
        for name in sorted(names)
        if name.startswith(prefix)
        and name.endswith("/package.json")
        and name != f"{prefix}package.json"
    ]
    if patterns:
        chosen = [one for one in patterns if not one.startswith("!")]
        refused = [one[1:] for one in patterns if one.startswith("!")]
        places = [
            place for place in places if _matches(place, chosen) and not _matches(place, refused)
        ]
    return [f"{prefix}{place}" for place in places]


def find_unread(files: CheckoutFiles, folder: str) -> str | None:
    """Return a file that describes a package and is not read; None if all are read."""
    return files.remember(("unread", folder), lambda: _find_unread(files, folder))


def _find_unread(files: CheckoutFiles, folder: str) -> str | None:
    unread = [
        name
        for name in files.names - files.contents.keys()
        if name.count("/") <= _DEEPEST and not FOREIGN.match(name)
    ]
    places = _package_places(files, folder, unread) if _patterns(files, folder) else []
    projects = (name for name in sorted(unread) if name.endswith("/project.json"))
    is_nx = beside(folder, "nx.json") in files.contents
    if places:
        return beside(places[0], "package.json")
    return next(projects, None) if is_nx else None


def workspace_top(files: CheckoutFiles, folder: str) -> str:
    """Return the folder of the workspace that a package belongs to."""
    place = folder
    while not _patterns(files, place):
        if place == ".":
            return folder
        place = place.rpartition("/")[0] or "."
    return place


def select_packages(
    files: CheckoutFiles,
    folder: str,
    chosen: Iterable[str],
    excluded: Iterable[str] = (),
    *,
    projects: Iterable[str] = (),
) -> list[str]:
    """Return the folders that options select; every package if that is none.

    Args:
        files: The checkout.
        folder: The folder of the workspace.
        chosen: Names, folders, patterns; `name...` adds dependencies, `...name` dependents. Those
            with `!` exclude, and those that compare with a commit select everything.
        excluded: Patterns of packages to leave out.
        projects: Folders that are packages, too.
    """
    everything = [*list_packages(files, folder), *projects]
    named = [one for one in islice(chosen, _MOST_PATTERNS) if one and "[" not in one]
    wanted = {one for one in named if not one.startswith("!")}
    refused = {*islice(excluded, _MOST_PATTERNS), *(one[1:] for one in named if one not in wanted)}
    found, out = (
        {place for one in selectors for place in _find(files, folder, one, everything)}
        for selectors in (wanted, refused)
    )
    top = [folder] if folder in found else []
    ordered = dict.fromkeys((*top, *everything))
    selected = [place for place in ordered if place in found] or everything
    return [place for place in selected if place not in out]


def _find(files: CheckoutFiles, folder: str, wanted: str, everything: list[str]) -> set[str]:
    """Return the folders that one selector names."""
    backward, forward = wanted.startswith("..."), wanted.endswith("...")
    plain = wanted.removeprefix("...").removesuffix("...").strip("^").strip("{}")
    plain = plain.removeprefix("./").rstrip("/")
    prefix = "" if folder == "." else f"{folder}/"
    if plain in {".", "//"}:
        return {folder}
    names = {place: _names(files, place) for place in (folder, *everything)}
    found = {
        place
        for place, own in names.items()
        if any(fnmatchcase(name, plain) for name in own)
        or _matches(place.removeprefix(prefix), [plain])
    } or {
        place
        for place, own in names.items()
        if any(name.rpartition("/")[2] == plain for name in own)
    }
    if not (forward or backward):
        return found
    needs = _needs(files, everything)
    for _ in everything:
        more = {need for place in found if forward for need in needs.get(place, ())}
        more |= {place for place, own in needs.items() if backward and own & found}
        if more <= found:
            break
        found |= more
    return found


def _patterns(files: CheckoutFiles, folder: str) -> list[str]:
    """Return the patterns of folders that a workspace lists."""
    path = beside(folder, "pnpm-workspace.yaml")
    if path in files.contents:
        return _plain(words(files.yaml(path).get("packages")))
    listed = files.json(beside(folder, "package.json")).get("workspaces")
    listed = mapping(listed).get("packages", listed)
    return _plain(words(listed) or words(files.json(beside(folder, "lerna.json")).get("packages")))


def _plain(patterns: Iterable[str]) -> list[str]:
    """Return patterns without `./`, a last slash, and braces."""
    found = []
    for one in islice(patterns, _MOST_PATTERNS):
        sign = "!" if one.startswith("!") else ""
        text = one.removeprefix("!").removeprefix("./").rstrip("/")
        braces = _BRACES.search(text)
        words_in = braces[1].split(",") if braces else [""]
        found += [sign + (text.replace(braces[0], word) if braces else text) for word in words_in]
    return [one for one in found if one.strip("!") not in {"", "."}]


def _matches(place: str, patterns: Iterable[str]) -> bool:
    return any(
        match_folder(place.split("/"), pattern.split("/"))
        for pattern in patterns
        if len(pattern) <= _LONGEST_PATTERN
    )


def match_folder(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return True if a path matches: `*` is part of a name, `**` any number of folders."""
    reached = {0}  # the numbers of parts that the pattern can match so far
    for one in pattern:
        if one == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            left = reached - {len(parts)}
            reached = {at + 1 for at in left if fnmatchcase(parts[at], one)}
        if not reached:
            return False
    return len(parts) in reached


def _name(files: CheckoutFiles, place: str) -> str:
    found = files.json(beside(place, "package.json")).get("name")
    return found if isinstance(found, str) else ""


def _names(files: CheckoutFiles, place: str) -> list[str]:
    """Return the names of a package, also the one that nx gives it."""
    project = files.json(beside(place, "project.json")).get("name")
    return [_name(files, place), *([project] if isinstance(project, str) else [])]


def _needs(files: CheckoutFiles, places: list[str]) -> Mapping[str, set[str]]:
    """Return the packages of the workspace that each of them depends on."""
    by_name = {_name(files, place): place for place in places}
    found = {}
    for place in places:
        package = files.json(beside(place, "package.json"))
        listed = {name for field in _DEPENDENCIES for name in mapping(package.get(field))}
        found[place] = {by_name[name] for name in listed & by_name.keys()} - {place}
    return found


def _sorted(files: CheckoutFiles, places: list[str]) -> list[str]:
    """Return packages in an order in which they can be built; a circle has no right one."""
    needs, done, seen = _needs(files, places), list[str](), set[str]()

    def visit(place: str) -> None:
        if place not in seen:
            seen.add(place)
            for need in sorted(needs[place]):
                visit(need)
            done.append(place)

    for place in places:
        visit(place)
    return done
