"""Find the files of a checkout that a file imports, by names and paths only."""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from sandbox.languages import GO, JAVASCRIPT, RUST, TYPESCRIPT, find_language
from sandbox.languages.outline import Import

_WEB_SUFFIXES = (*TYPESCRIPT.suffixes, *JAVASCRIPT.suffixes)
_WRITTEN = {
    ".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",),
}  # fmt: skip
"""Suffixes of sources that are imported by the suffix of their compiled file."""
_SETTINGS = {
    GO: ("go.mod",),
    RUST: ("Cargo.toml",),
    JAVASCRIPT: ("tsconfig.json", "tsconfig.base.json", "jsconfig.json"),
    TYPESCRIPT: ("tsconfig.json", "tsconfig.base.json", "jsconfig.json"),
}
"""Files that name modules, by language."""
_MOST_SETTINGS = 12
_MOST_TEXT = 100_000
"""Larger settings are not read, in characters."""
_MOST_PATTERNS = 100
_MOST_MODULES = 200
"""Modules of one file that are looked up."""
_MOST_PLACES = 40
"""Places where one module is looked up."""
_LONGEST = 300
"""Longest setting that is read, in characters."""
_DEEPEST = 12
"""Parts of a path in Rust that are read."""
_GO_MODULE = re.compile(r"^module[ \t]{1,20}(\S{1,300})", re.MULTILINE)
_CRATE = re.compile(r"""^name[ \t]{0,20}=[ \t]{0,20}["']([\w-]{1,100})["']""", re.MULTILINE)
# Unclosed text is taken to its end, so that nothing is read twice.
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"?)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_COMMA = re.compile(r",(\s*[}\]])")

_Aliases = list[tuple[str, Mapping[str, object]]]
"""Patterns of module names with their targets, and the folder where the targets begin."""


@dataclass(frozen=True)
class CheckoutModules:
    """Paths of a checkout, and the settings that name modules."""

    paths: frozenset[str]
    settings: Mapping[str, str]
    """Text of files that name modules, by path."""


def settings_for(path: str, paths: frozenset[str]) -> tuple[str, ...]:
    """Return the files that name the modules which a source file may import.

    Args:
        path: The source file.
        paths: All paths of the checkout.
    """
    language = find_language(path)
    names = _SETTINGS.get(language, ()) if language is not None else ()
    if language in {GO, RUST}:
        found = [one for one in paths if posixpath.basename(one) in names]
    else:
        found = [
            one
            for folder in _folders(path)
            for name in names
            if (one := posixpath.join(folder, name)) in paths
        ]
    found.sort(key=lambda one: (not _is_inside(path, posixpath.dirname(one)), -one.count("/"), one))
    return tuple(found[:_MOST_SETTINGS])


def imported_files(
    path: str, imports: tuple[Import, ...], checkout: CheckoutModules
) -> Iterator[str]:
    """Yield the files of the checkout that a file imports, or that share its package.

    Args:
        path: The importing file.
        imports: Its imports.
        checkout: The checkout's paths.
    """
    language = find_language(path)
    modules = list(islice((name for one in imports for name in one.modules), _MOST_MODULES))
    if language in {JAVASCRIPT, TYPESCRIPT}:
        aliases, packages = _aliases(path, checkout), _packages(checkout.paths)
        for name in modules:
            places = islice(_web_places(name, path, aliases, packages), _MOST_PLACES)
            found = (_with_suffix(posixpath.normpath(one), checkout.paths) for one in places)
            yield from islice(filter(None, found), 1)
    elif language == GO:
        yield from _go_files(modules, path, checkout)
    elif language == RUST:
        crates = _crates(checkout)
        for name in modules:
            yield from _rust_file(name, path, checkout, crates)


def _packages(paths: frozenset[str]) -> dict[str, str]:
    """Return the folders of the checkout's packages, by the names of the folders."""
    found = (posixpath.dirname(one) for one in paths if one.endswith("/package.json"))
    # The packages of a workspace are usually named like their folders.
    return {posixpath.basename(folder): folder for folder in sorted(found, reverse=True)}


def _web_places(
    name: str, path: str, aliases: _Aliases, packages: Mapping[str, str]
) -> Iterator[str]:
    """Yield the places of an import in JavaScript or TypeScript."""
    name = name.partition("?")[0]
    if name.startswith("."):
        yield posixpath.join(posixpath.dirname(path), name)
        return
    for root, patterns in aliases:
        yield from _aliased(name, root, patterns)
    yield from _in_package(name, packages)


def _in_package(name: str, packages: Mapping[str, str]) -> Iterator[str]:
    """Yield the places of `@shop/cart/tax` in a package whose folder is named `cart`."""
    own, _, rest = (name.partition("/")[2] if name.startswith("@") else name).partition("/")
    folder = packages.get(own)
    if folder is not None:
        yield posixpath.join(folder, "src", rest)
        yield posixpath.join(folder, rest)


def _with_suffix(place: str, paths: frozenset[str]) -> str | None:
    """Return the file that an import without a suffix, or with that of the compiled file, means."""
    place = "" if place == "." else place
    stem, suffix = posixpath.splitext(place)
    candidates = [place] if place.endswith(_WEB_SUFFIXES) else []
    candidates += [f"{stem}{other}" for other in _WRITTEN.get(suffix, ())]
    candidates += [f"{place}{other}" for other in _WEB_SUFFIXES]
    candidates += [posixpath.join(place, f"index{other}") for other in _WEB_SUFFIXES]
    return next((one for one in candidates if one in paths), None)


def _aliases(path: str, checkout: CheckoutModules) -> _Aliases:
    """Return `paths` and `baseUrl` of the nearest settings."""
    found: _Aliases = []
    for settings in settings_for(path, checkout.paths):
        options = _compiler_options(checkout.settings.get(settings, ""))
        base, patterns = options.get("baseUrl"), options.get("paths")
        start = base[:_LONGEST] if isinstance(base, str) else "."
        root = posixpath.join(posixpath.dirname(settings), start)
        found += [(root, patterns)] if isinstance(patterns, dict) else []
        found += [(root, {"*": ["*"]})] if isinstance(base, str) else []
    return found


def _aliased(name: str, root: str, patterns: Mapping[str, object]) -> Iterator[str]:
    """Yield the places of a name by some `paths`."""
    for pattern, targets in islice(patterns.items(), _MOST_PATTERNS):
        start, star, end = pattern.partition("*")
        fits = name.startswith(start) and name.endswith(end) if star else name == pattern
        if fits and isinstance(targets, list):
            middle = name[len(start) : len(name) - len(end)] if star else ""
            for target in targets[:_MOST_PATTERNS]:
                yield posixpath.join(root, str(target)[:_LONGEST].replace("*", middle, 1))


def _compiler_options(text: str) -> dict[str, object]:
    """Return `compilerOptions` of JSON with comments; empty if it cannot be read."""
    if len(text) > _MOST_TEXT:
        return {}
    plain = _COMMA.sub(r"\1", _COMMENT.sub(lambda found: found[1] or " ", text))
    try:
        read = json.loads(plain)
    except (ValueError, RecursionError):
        return {}
    options = read.get("compilerOptions") if isinstance(read, dict) else None
    return options if isinstance(options, dict) else {}


def _go_files(modules: list[str], path: str, checkout: CheckoutModules) -> Iterator[str]:
    """Yield the other files of a package, then those of the packages that it imports."""
    homes = {
        found[1].strip('"'): posixpath.dirname(settings)
        for settings, text in checkout.settings.items()
        if (found := _GO_MODULE.search(text[:_MOST_TEXT])) is not None
    }
    folders = [posixpath.dirname(path)]
    for name in modules:
        for module, home in homes.items():
            if name == module or name.startswith(f"{module}/"):
                folders.append(posixpath.join(home, name[len(module) :].strip("/")).rstrip("/"))
    order = {folder: number for number, folder in enumerate(dict.fromkeys(folders))}
    files = [
        (order[folder], one)
        for one in checkout.paths
        if one.endswith(GO.suffixes)
        and not one.endswith("_test.go")
        and (folder := posixpath.dirname(one)) in order
    ]
    yield from (one for _, one in sorted(files))


def _rust_file(
    name: str, path: str, checkout: CheckoutModules, crates: Mapping[str, str]
) -> Iterator[str]:
    """Yield the file of `mod x`, or of the path of a `use`."""
    parts = name.split("::", _DEEPEST)[:_DEEPEST]
    start, rest = _rust_start(parts, path, checkout, crates)
    if start is None:
        return
    # The last parts may name a function or type instead of a module.
    places = [posixpath.join(start, *rest[:count]) for count in range(len(rest), 0, -1)]
    files = [one for place in places for one in (f"{place}.rs", posixpath.join(place, "mod.rs"))]
    # An unknown first part is probably a crate from elsewhere.
    if rest != parts and not name.startswith("mod "):
        files += [posixpath.join(start, root) for root in ("lib.rs", "main.rs", "mod.rs")]
        files.append(f"{start}.rs")
    yield from [one for one in files if one in checkout.paths and one != path][:1]


def _rust_start(
    parts: list[str], path: str, checkout: CheckoutModules, crates: Mapping[str, str]
) -> tuple[str | None, list[str]]:
    """Return the folder where the search for a path begins, and the remaining parts."""
    folder, file = posixpath.split(path)
    is_root = file in {"lib.rs", "main.rs", "mod.rs"} or posixpath.basename(folder) == "tests"
    inner = folder if is_root else posixpath.join(folder, file.removesuffix(".rs"))
    first, *rest = parts
    if first.startswith("mod "):
        return inner, [first.removeprefix("mod ")]
    if first == "self":
        return inner, rest
    if first == "super":
        while parts[:1] == ["super"]:
            inner, parts = posixpath.dirname(inner), parts[1:]
        return inner, parts
    if first == "crate":
        return _crate_root(folder, checkout), rest
    # Since 2018, a module of the same file needs no `self::`.
    return (crates[first], rest) if first in crates else (inner, parts)


def _crate_root(folder: str, checkout: CheckoutModules) -> str | None:
    """Return the nearest folder above with the root of a crate."""
    for one in (folder, *_folders(folder)):
        if any(posixpath.join(one, root) in checkout.paths for root in ("lib.rs", "main.rs")):
            return one
    return None


def _crates(checkout: CheckoutModules) -> dict[str, str]:
    """Return the folders with the sources of the checkout's crates, by name."""
    return {
        name.replace("-", "_"): posixpath.join(posixpath.dirname(settings), "src")
        for settings, text in checkout.settings.items()
        for name in _CRATE.findall(text[:_MOST_TEXT])
    }


def _folders(path: str) -> Iterator[str]:
    """Yield the folders around a path, the nearest first, at last the checkout itself."""
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
    yield ""


def _is_inside(path: str, folder: str) -> bool:
    return not folder or path.startswith(f"{folder}/")
