"""Reverse the order in which the folders of a work tree list their entries.

The order of names depends on their creation. This exposes code that takes the first one for the
smallest, or recognises a machine by it. Arguments: the work tree, and a path beside it on the same
file system.
"""

import os
import sys
from typing import List


def reverse(root: str, spare: str) -> None:
    """Reverse the order of every folder below a root.

    Args:
        root: The work tree; its `.git` stays unchanged.
        spare: A temporary folder.
    """
    os.mkdir(spare, 0o700)
    for folder, folders, _ in os.walk(root):
        if folder == root and ".git" in folders:
            folders.remove(".git")
        was = os.listdir(folder)
        _recreate_entries(folder, was, spare)
        # Some kernels list the newest name first, others last. The second attempt is for the
        # latter.
        if len(was) > 1 and os.listdir(folder) == was:
            _recreate_entries(folder, was[::-1], spare)
    os.rmdir(spare)


def _recreate_entries(folder: str, names: List[str], spare: str) -> None:
    """Move all entries out of a folder and back in this order."""
    for name in names:
        os.rename(os.path.join(folder, name), os.path.join(spare, name))
    for name in names:
        os.rename(os.path.join(spare, name), os.path.join(folder, name))


if __name__ == "__main__":
    reverse(*sys.argv[1:3])
