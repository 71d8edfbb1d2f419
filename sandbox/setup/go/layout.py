"""Paths of Go in an environment and its variables, which the set-up and workspaces share."""

GO_FILES = "go/"
"""Prefix of the checkout's `go.mod` files among all files of a set-up."""
RUNTIME = "go/runtime"
"""Folder of the environment with the wheel that contains Go."""
MODULES = "go/modules"
"""Folder of the environment with downloaded modules."""
COMPILED = "go/compiled"
"""Folder of the environment with Go's compiled standard library, a build cache."""


GO_PROCESSORS = "4"
"""Processors that Go uses, unless the job says so itself: those of GitHub's standard runners.

Go before 1.25 counts all of the host's, and then starts more compilers than a sandbox may.
"""


def go_variables(environment: str) -> dict[str, str]:
    """Return the variables with which Go downloads nothing: neither itself nor modules.

    Args:
        environment: The environment's folder.
    """
    return {
        "GOTOOLCHAIN": "local",
        "GOPROXY": "off",
        "GOSUMDB": "off",
        "GOMODCACHE": f"{environment}/{MODULES}",
    }
