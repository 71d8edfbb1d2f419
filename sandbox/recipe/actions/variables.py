"""The variables of a step: three levels of `env`, exports of earlier steps, and excluded names."""

import re

from pydantic import Field

from sandbox.recipe.actions.exports import Exported
from sandbox.recipe.actions.templates import resolve, resolve_value
from sandbox.recipe.actions.values import Context, Partly, Unknown, Value
from sandbox.recipe.document import mapping, text
from sandbox.recipe.fidelity import FidelityLog
from sandbox.types import Frozen

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_LONGEST = 2_000
_MOST = 60
_OURS = frozenset(
    {
        "PATH",
        "HOME",
        "VIRTUAL_ENV",
        "BASH_ENV",
        "ENV",
        "IFS",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "SHELLOPTS",
    }
)


class Variables(Frozen):
    """The environment variables of a step."""

    known: dict[str, str] = Field(default_factory=dict)
    unknown: dict[str, str] = Field(default_factory=dict)
    """Expressions that only GitHub knows, by variable name."""
    is_open: bool = False
    """An action that is not run here may have set other variables."""

    def context(self) -> dict[str, Value]:
        """Return the variables as the `env` context."""
        unknown = {name: Unknown((names,)) for name, names in self.unknown.items()}
        found: dict[str, Value] = {**unknown, **self.known}
        return Partly(found) if self.is_open else found

    def plus(self, level: object, context: Context, log: FidelityLog) -> "Variables":
        """Add one level of `env`, whose values may use the levels before."""
        known, unknown = dict(self.known), dict(self.unknown)
        if isinstance(level, str):  # `env: ${{ matrix.env }}`
            found_level = resolve_value(level, {**context, "env": self.context()})
            if isinstance(found_level, Unknown):
                log.dropped("env", f"only GitHub knows {', '.join(found_level.names)}")
            level = found_level
        for name, value in list(mapping(level).items())[:_MOST]:
            if not is_passed_on(name):
                log.dropped(f"env {name}", "a variable of this name is not passed on")
                continue
            found, missing = resolve(text(value), {**context, "env": self.context()})
            known.pop(name, None)
            unknown.pop(name, None)
            if missing is not None:
                unknown[name] = ", ".join(missing.names)
                log.dropped(f"env {name}", f"only GitHub knows {unknown[name]}")
            elif len(found) > _LONGEST or "\0" in found:
                log.dropped(f"env {name}", "its value is too long")
            else:
                known[name] = found
        return self.with_(known=known, unknown=unknown)

    def exported(self, values: Exported, log: FidelityLog) -> "Variables":
        """Add what a step wrote to GITHUB_ENV."""
        known, unknown = dict(self.known), dict(self.unknown)
        for name, value in values.items():
            if not is_passed_on(name):
                log.dropped(f"env {name}", "a variable of this name is not passed on")
                continue
            known.pop(name, None)
            unknown.pop(name, None)
            if isinstance(value, Unknown):
                unknown[name] = ", ".join(value.names)
                log.dropped(
                    f"env {name}", "an earlier step computes it, which is known at run time only"
                )
            else:
                known[name] = value
        return self.with_(known=known, unknown=unknown)


def is_passed_on(name: str) -> bool:
    """Return True if a variable may reach our sandbox: it must not change how programs start."""
    return (
        _NAME.fullmatch(name) is not None
        and name not in _OURS
        and not name.startswith(("LD_", "GIT_", "GITHUB_", "RUNNER_", "METAAGENT_"))
    )
