"""Find improvements of some files of a project by rules, the most useful first."""

from collections.abc import Iterable, Iterator, Mapping

from bot.improve.rules import propose
from bot.improve.rules.source import PythonFile, exported_names
from bot.improve.values import Improvement
from sandbox.diffs import Original


def find_by_rules(
    paths: Iterable[str], tree: Mapping[str, Original]
) -> Iterator[tuple[Improvement, bytes]]:
    """Yield improvements with the new content of their file.

    Args:
        paths: The files to improve.
        tree: All files of the project.
    """
    texts = {
        path: original.content.decode("utf-8", "replace")
        for path, original in tree.items()
        if path.endswith((".py", ".pyi"))
    }
    for path in paths:
        others = (text for other, text in texts.items() if other != path)
        exported = exported_names(_module_name(path), others)
        source = PythonFile.parse(path, tree[path].content, exported)
        if source is not None:
            yield from propose(source)


def _module_name(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name == "__init__.py" else name.removesuffix(".py")
