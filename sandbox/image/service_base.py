"""Build the bases of the service's images from Debian packages, for hosts without a registry.

    python -m sandbox.image.service_base

It prints two images: without git, for `web`, and with git.
"""

import hashlib
import shutil
import tempfile
from pathlib import Path

from sandbox.backends.docker_hardening import connect
from sandbox.image.build import LEFT_OUT, install_packages, pack_root
from sandbox.spec import SandboxSpec

REPOSITORY = "metaagent-base"
PACKAGES = ("ca-certificates", "git", "python3", "python3-venv")
UNREAD = (
    *LEFT_OUT,
    "./usr/bin/perl*",
    "./usr/bin/scalar",
    "./usr/lib/*/gconv",
    "./usr/lib/*/libperl*",
    "./usr/lib/*/perl*",
    "./usr/share/bug",
    "./usr/share/i18n",
    "./usr/share/perl*",
    "./var/lib/dpkg/info",
)
"""What neither Python nor the commands of git that we use read."""
OTHERS = (
    "./usr/bin/git*",
    "./usr/lib/git-core",
    "./usr/lib/python3*/distutils",
    "./usr/lib/python3*/lib2to3",
    "./usr/lib/python3*/pydoc_data",
    "./usr/share/git-core",
    "./usr/share/gitweb",
    "./usr/share/python-wheels",
    "./usr/share/zoneinfo",
    "./var/cache/debconf",
)
"""What only git, or the building of environments, reads. Time zones come from the package tzdata."""
BASES = {"web": (*UNREAD, *OTHERS), "git": UNREAD}
"""What each base leaves out."""


def build_bases(spec: SandboxSpec) -> list[str]:
    """Build the bases that do not exist, and return their names.

    Args:
        spec: The Debian suite.

    Raises:
        SandboxUnavailable: This host cannot build them.
    """
    inputs = repr((spec.debian_suite, PACKAGES, BASES)).encode()
    tag = hashlib.sha256(inputs).hexdigest()[:12]
    names = {f"{REPOSITORY}:{base}-{tag}": left_out for base, left_out in BASES.items()}
    client = connect()
    try:
        missing = [name for name in names if not client.images.list(name)]
        if missing:
            with tempfile.TemporaryDirectory(prefix="metaagent-base-") as folder:
                root, archive = Path(folder) / "root", Path(folder) / "root.tar"
                install_packages(root, spec.debian_suite, PACKAGES)
                for name in missing:
                    pack_root(root, archive, names[name])
                    repository, _, own = name.partition(":")
                    client.api.import_image(src=str(archive), repository=repository, tag=own)
                shutil.rmtree(root)
    finally:
        client.close()
    return list(names)


if __name__ == "__main__":
    print(*build_bases(SandboxSpec()))
