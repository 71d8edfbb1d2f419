"""Every key a policy may set: what it may hold, and what counts when it cannot be read. Never more than was meant."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError

from bot.domain.policy import DeliveryRule, PolicyLimits, RepositoryPolicy, Triggers
from bot.policy.document import Document, Place, UnreadableError, read_document

GROUPS: Mapping[str, type[BaseModel]] = MappingProxyType({"triggers": Triggers, "limits": PolicyLimits})
"""Keys that hold keys; each of those is set, merged and told by itself."""

NOT_KEYS = frozenset({"origins", "problems"})
"""Fields of a policy that say where it comes from; no file sets them."""

STRICTEST: Mapping[str, Any] = MappingProxyType(
    {
        "enabled": False,
        "automatic": False,
        "mode": "staged",
        "triggers.checks": False,
        "triggers.statuses": False,
        "triggers.comments": False,
        "triggers.labels": False,
        "triggers.buttons": False,
        "rungs": (),
        "time_limit_s": 1.0,
        "dependencies": "never",
        "paths_allowed": (),
        "paths_protected": ("**",),
        "base_branches": (),
        "forks": "never",
        "deliver": (DeliveryRule(deliver="report"),),
        "draft": True,
        "expire_days": 0,
        "schedule": "never",
        "limits.attempts": 0,
        "limits.open_pull_requests": 0,
        "limits.seconds_per_mission": 1.0,
        "limits.seconds_per_pull_request": 1.0,
        "limits.seconds_per_day": 1.0,
        "limits.missions_per_pull_request": 0,
        "limits.missions_per_day": 0,
        "limits.usd_per_mission": 0.0,
        "limits.usd_per_pull_request": 0.0,
        "limits.usd_per_day": 0.0,
        "limits.tokens_per_mission": 0,
        "limits.tokens_per_pull_request": 0,
        "limits.tokens_per_day": 0,
    }
)
"""What counts for a key that holds us back when its value cannot be read; the other keys then count as not set."""

_STRICTEST_COUNTS = "; until it is mended, the strictest counts"
_SHOWN = 60
_MOST_PROBLEMS = 50
_ALIKE = 0.8


@dataclass
class Reading:
    """What one file says, key by key (`limits.attempts`)."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def over(self, other: "Reading") -> "Reading":
        """Both, where what this one sets wins."""
        return Reading(
            values={**other.values, **self.values},
            origins={**other.origins, **self.origins},
            problems=[*self.problems, *other.problems],
        )

    def policy(self) -> RepositoryPolicy:
        """The policy it comes to; what is not set has its default."""
        fields: dict[str, Any] = {}
        for key, value in self.values.items():
            group, dot, name = key.partition(".")
            if dot:
                fields.setdefault(group, {})[name] = value
            else:
                fields[key] = value
        return RepositoryPolicy(**fields, origins=self.origins, problems=tuple(self.problems[:_MOST_PROBLEMS]))


def closed(problem: str, origin: str) -> Reading:
    """What a file counts as that cannot be read: it may have said anything, so nothing is allowed.

    Args:
        problem: Why it cannot be read.
        origin: Its path and line.
    """
    # Words are still allowed, or nobody would learn of it.
    values = {key: value for key, value in STRICTEST.items() if key != "mode"}
    return Reading(values, dict.fromkeys(values, origin), [f"{origin}: {problem}"])


def read_keys(content: bytes, shown: str) -> Reading | None:
    """What a file says, each key checked by itself; None when it says nothing of us.

    Args:
        content: The file.
        shown: What to call it; a `.toml` is read as pyproject.toml.
    """
    try:
        document = read_document(content, toml=shown.endswith(".toml"))
    except UnreadableError as error:
        return closed(f"{error.message}; nothing is allowed until it can be", f"{shown}:{error.line}")
    return None if document is None else _Checker(document, shown).reading()


def every_key() -> Iterator[tuple[str, type[BaseModel], str]]:
    """Every key, the model that has it, and its name there."""
    for name in RepositoryPolicy.model_fields:
        if name in GROUPS:
            yield from ((f"{name}.{inner}", GROUPS[name], inner) for inner in GROUPS[name].model_fields)
        elif name not in NOT_KEYS:
            yield name, RepositoryPolicy, name


class _Checker:
    """Goes through one document."""

    def __init__(self, document: Document, shown: str) -> None:
        self._document = document
        self._shown = shown
        self._reading = Reading()

    def reading(self) -> Reading:
        """All keys, checked."""
        values = self._document.values
        for name, value in values.items():
            if name in GROUPS:
                self._group(name, value)
            elif name in NOT_KEYS or name not in RepositoryPolicy.model_fields:
                self._unknown((name,), RepositoryPolicy)
            else:
                self._key((name,), RepositoryPolicy, value)
        return self._reading

    def _group(self, name: str, value: Any) -> None:
        if (reason := self._document.wrong.get((name,))) or not isinstance(value, dict):
            self._misread((name,), (name,), f"{reason or 'it must hold keys'}{_says(value)}")
            return
        for inner, setting in value.items():
            if inner in GROUPS[name].model_fields:
                self._key((name, inner), GROUPS[name], setting)
            else:
                self._unknown((name, inner), GROUPS[name])

    def _key(self, place: Place, model: type[BaseModel], value: Any) -> None:
        key = ".".join(map(str, place))
        for wrong, reason in self._document.wrong.items():
            if wrong[: len(place)] == place:
                self._misread(place, wrong, reason)
                return
        try:
            text = json.dumps({place[-1]: value}, allow_nan=False)
            self._reading.values[key] = getattr(model.model_validate_json(text, strict=True), str(place[-1]))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            self._misread(place, (*place[:-1], *first["loc"]), f"{first['msg']}{_says(first['input'])}")
        except (TypeError, ValueError):
            self._misread(place, place, f"a value of this kind is not allowed here{_says(value)}")
        else:
            self._reading.origins[key] = self._origin(place)

    def _unknown(self, place: Place, model: type[BaseModel]) -> None:
        """An unknown key is told; one that looks like a misspelt restriction counts as that restriction, misread."""
        key = ".".join(map(str, place))
        fields = [name for name in model.model_fields if name not in NOT_KEYS]
        alike = difflib.get_close_matches(str(place[-1]).lower().replace("-", "_"), fields, 1, _ALIKE)
        if not alike:
            self._tell(place, f"unknown key `{shown(key)}`")
            return
        meant = (*place[:-1], alike[0])
        counts = alike[0] not in self._around(place) and self._restrict(meant, place)
        hint = f"is `{'.'.join(map(str, meant))}` meant?{_STRICTEST_COUNTS if counts else ''}"
        self._tell(place, f"unknown key `{shown(key)}`; {hint}")

    def _around(self, place: Place) -> Mapping[str, Any]:
        values: Mapping[str, Any] = self._document.values
        for part in place[:-1]:
            values = values[str(part)]
        return values

    def _misread(self, key: Place, at: Place, problem: str) -> None:
        counts = _STRICTEST_COUNTS if self._restrict(key, at) else ""
        self._tell(at, f"`{'.'.join(map(str, key))}`: {problem}{counts}")

    def _restrict(self, key: Place, at: Place) -> bool:
        """Let the strictest count for a key, or for all of a group; whether it is one that holds us back."""
        name = ".".join(map(str, key))
        names = [one for one in STRICTEST if one == name or one.startswith(f"{name}.")]
        for one in names:
            self._reading.values[one] = STRICTEST[one]
            self._reading.origins[one] = self._origin(at)
        return bool(names)

    def _tell(self, place: Place, problem: str) -> None:
        self._reading.problems.append(f"{self._origin(place)}: {problem}")

    def _origin(self, place: Place) -> str:
        return f"{self._shown}:{self._document.line_of(place)}"


def shown(value: Any) -> str:
    """What somebody wrote, short enough for a message."""
    text = "".join(c if c.isprintable() else " " for c in str(value)).replace("`", "'")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _says(value: Any) -> str:
    return f" (it says `{shown(value)}`)"
