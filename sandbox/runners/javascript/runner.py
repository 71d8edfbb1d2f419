"""Start a JavaScript test runner with our reporter, and read its signed records."""

import json
import secrets

from sandbox.runners.base import GuestPlaces, Invocation, RunnerReading, RunRequest, with_defaults
from sandbox.runners.javascript.command import split_node_command
from sandbox.runners.records import RecordsForged, read_records, sign_node
from sandbox.runners.session import SessionReader
from sandbox.types import CommandResult

_KEY_BYTES = 16
_ENTRY = "node/entry.cjs"
_NO_USAGE_ERROR = -1
"""No status of these runners means wrong use alone."""
_VERBS = ("accepts", "returns", "keeps", "reads", "handles", "parses", "joins", "counts")
_OBJECTS = ("a plain value", "an empty list", "one entry", "the limit", "a short name", "the order")


class JavaScriptRunner:
    """One JavaScript test runner, also after `npx`, `cross-env`, `c8` and the like.

    Args:
        name: `vitest`, `jest`, `mocha` or `node:test`.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        """Return the runner's name."""
        return self._name

    def recognises(self, command: str, /) -> bool:
        """Return True if this runner reads the command."""
        found = split_node_command(command)
        return found is not None and found.tool == self._name

    def prepare(self, request: RunRequest, places: GuestPlaces, /) -> Invocation:
        """Return what to start."""
        command = split_node_command(request.command)
        if command is None:
            raise ValueError(f"not a command of {self._name}")
        key = secrets.token_bytes(_KEY_BYTES)
        config = {
            "key": key.hex(),
            "tool": self._name,
            "args": list(command.args),
            "targets": list(request.targets),
            "order": request.order,
            "seed": request.seed,
            "maxfail": request.maxfail,
            "root": places.checkout,
            "canaries": _canary_names(),
        }
        # As in CI: no test writes a snapshot, and no runner waits for changes.
        environment = with_defaults(request, {"CI": "true", **command.environment})
        program = f"{places.guest_dir}/{_ENTRY}"
        return Invocation(
            argv=("node", *command.node_options, program),
            environment=environment,
            stdin=json.dumps(config).encode(),
            key=key,
            checkout=places.checkout,
            folder=places.folder,
        )

    def read(
        self, request: RunRequest, invocation: Invocation, result: CommandResult, /
    ) -> RunnerReading:
        """Read the result of a run."""
        try:
            records = list(read_records(result.results, invocation.key, sign_node))
        except RecordsForged as error:
            return RunnerReading(ended=False, tampering=(str(error),))
        reader = SessionReader(result, request, tool=self._name, usage_error=_NO_USAGE_ERROR)
        return reader.read(records)


def _canary_names() -> list[str]:
    """Return two plausible names of tests, new for every run."""
    return [
        f"{secrets.choice(_VERBS)} {secrets.choice(_OBJECTS)} {number}{secrets.randbelow(90) + 10}"
        for number in (1, 2)
    ]


JAVASCRIPT_RUNNERS = tuple(
    JavaScriptRunner(name) for name in ("vitest", "jest", "mocha", "node:test")
)
