"""Import one commit by its SHA: bare fetch, checks, limits, bundle.

Only this package runs git on the host, and never on a work tree.
"""

from sandbox.importer.fetch import Importer
from sandbox.importer.git_runner import version_on_host
from sandbox.importer.history import changes_of_folder, check_revision
from sandbox.importer.repository import ImportedRepository, Revision, TreeFile

__all__ = [
    "ImportedRepository",
    "Importer",
    "Revision",
    "TreeFile",
    "changes_of_folder",
    "check_revision",
    "version_on_host",
]
