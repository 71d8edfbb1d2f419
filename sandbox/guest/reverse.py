"""Let the folders of a work tree list their entries in the opposite order, as far as the file system keeps one.

Names come out in an order that depends on how they were made. Code that takes the first one for the smallest, or
knows a machine by it, shows here. Arguments: the work tree, and a path beside it on the same file system.
"""

import os
import sys
from typing import List


def reverse(root: str, spare: str) -> None:
    """Reverse the order of every folder below a root.

    Args:
        root: The work tree; its `.git` is left as it is.
        spare: A folder that is made for this, and removed.
    """
    os.mkdir(spare, 0o700)
    for folder, folders, _ in os.walk(root):
        if folder == root and ".git" in folders:
            folders.remove(".git")
        was = os.listdir(folder)
        _put_again(folder, was, spare)
        # Some kernels list the newest name first, others last: the second attempt is for the others.
        if len(was) > 1 and os.listdir(folder) == was:
            _put_again(folder, was[::-1], spare)
    os.rmdir(spare)


def _put_again(folder: str, names: List[str], spare: str) -> None:
    """Take all entries out of a folder, and put them back in this order."""
    for name in names:
        os.rename(os.path.join(folder, name), os.path.join(spare, name))
    for name in names:
        os.rename(os.path.join(spare, name), os.path.join(folder, name))


if __name__ == "__main__":
    reverse(*sys.argv[1:3])
