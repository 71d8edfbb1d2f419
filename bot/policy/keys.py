"""Validation of every policy key. An unreadable value never allows more than was intended."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ValidationError
from typing_extensions import override

from bot.domain.policy import (
    OLD_POLICY_KEYS,
    ContinuousImprovement,
    DeliveryRule,
    PolicyLimits,
    RepositoryPolicy,
    ScheduledImprovement,
    Triggers,
)
from bot.policy.document import Document, Place, UnreadableError, read_document

GROUPS: Mapping[str, type[BaseModel]] = MappingProxyType(
    {
        "triggers": Triggers,
        "continuous": ContinuousImprovement,
        "improve": ScheduledImprovement,
        "limits": PolicyLimits,
    }
)
"""Keys that contain keys. Each of these is set, merged and reported separately."""

NOT_KEYS = frozenset({"origins", "problems"})
"""Fields of a policy that record its sources; a file cannot set them."""

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
        "time_limit": 1.0,
        "dependencies": "never",
        "paths_allowed": (),
        "paths_protected": ("**",),
        "base_branches": (),
        "forks": "never",
        "deliver": (DeliveryRule(deliver="report"),),
        "draft": True,
        "regression_test": False,
        "expire_days": 0,
        "schedule": "never",
        "dashboard_issue": False,
        "continuous.schedule": "never",
        "continuous.after_merge": False,
        "continuous.missions": 1,
        "improve.schedule": "never",
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
"""The values for restricting keys whose value is unreadable; other keys count as not set."""

_STRICTEST_APPLIES = "; the strictest value applies until this is corrected"
_SHOWN = 60
"""Most characters shown of an untrusted value."""
_MOST_PROBLEMS = 50
_ALIKE = 0.8
"""Lowest similarity of a misspelt key, as a ratio of difflib."""


@dataclass(frozen=True)
class PolicyProblem:
    """A problem of a policy file; its text is a line, and short."""

    file: str
    """The name for messages."""
    line: int | None
    """From 1; None if the file was not read."""
    text: str
    is_error: bool = True
    """False for a deprecated key, which is understood."""

    @property
    def origin(self) -> str:
        """Return the file, and the line if it is known."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @override
    def __str__(self) -> str:
        return f"{self.origin}: {self.text}"


@dataclass
class Reading:
    """The content of one file by key (`limits.attempts`)."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    problems: list[PolicyProblem] = field(default_factory=list)

    def over(self, other: "Reading") -> "Reading":
        """Return both readings merged; this one takes precedence."""
        return Reading(
            values={**other.values, **self.values},
            origins={**other.origins, **self.origins},
            problems=[*self.problems, *other.problems],
        )

    def policy(self) -> RepositoryPolicy:
        """Return the policy; missing keys have their defaults."""
        fields: dict[str, Any] = {}
        for key, value in self.values.items():
            group, dot, name = key.partition(".")
            if dot:
                fields.setdefault(group, {})[name] = value
            else:
                fields[key] = value
        return RepositoryPolicy(
            **fields,
            origins=self.origins,
            problems=tuple(map(str, self.problems[:_MOST_PROBLEMS])),
        )


def strictest_reading(text: str, file: str, line: int | None = None) -> Reading:
    """Return the strictest reading, for an unreadable file.

    Args:
        text: The reason.
        file: The name for messages.
        line: The line, if known.
    """
    problem = PolicyProblem(file, line, text)
    # Reports stay allowed: without them, people would not learn of the problem.
    values = {key: value for key, value in STRICTEST.items() if key != "mode"}
    return Reading(values, dict.fromkeys(values, problem.origin), [problem])


def read_keys(content: bytes, shown: str) -> Reading | None:
    """Read a file and check each key separately; return None if it does not mention us.

    Args:
        content: The content of the file.
        shown: The name for messages; a `.toml` is read as a pyproject.toml.
    """
    try:
        document = read_document(content, toml=shown.endswith(".toml"))
    except UnreadableError as error:
        return strictest_reading(
            f"{error.message}; nothing is allowed until it is readable", shown, error.line
        )
    return None if document is None else _Checker(document, shown).reading()


def every_key() -> Iterator[tuple[str, type[BaseModel], str]]:
    """Yield every key, the model that has it, and its name there."""
    for name in RepositoryPolicy.model_fields:
        if name in GROUPS:
            yield from (
                (f"{name}.{inner}", GROUPS[name], inner) for inner in GROUPS[name].model_fields
            )
        elif name not in NOT_KEYS:
            yield name, RepositoryPolicy, name


class _Checker:
    """Checks one document."""

    def __init__(self, document: Document, shown: str) -> None:
        self._document = document
        self._shown = shown
        self._reading = Reading()

    def reading(self) -> Reading:
        """Return the reading of all keys."""
        values = self._document.values
        for written, value in values.items():
            name = self._current(written)
            if name in GROUPS:
                self._group(name, value)
            elif name in NOT_KEYS or name not in RepositoryPolicy.model_fields:
                self._unknown((name,), RepositoryPolicy)
            else:
                self._key((name,), RepositoryPolicy, value)
        return self._reading

    def _current(self, name: str) -> str:
        """Return today's name of a key, and report a former one."""
        current = OLD_POLICY_KEYS.get(name, name)
        if current != name:
            document, place = self._document, (name,)
            document.lines[(current,)] = document.find_line(place)
            if place in document.wrong:
                document.wrong[(current,)] = document.wrong[place]
            self._report(place, f"`{name}` is deprecated: write `{current}`", is_error=False)
        return current

    def _group(self, name: str, value: Any) -> None:
        if (reason := self._document.wrong.get((name,))) or not isinstance(value, dict):
            self._misread(
                (name,), (name,), f"{reason or 'it must be a table of keys'}{_got(value)}"
            )
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
            # Validated as JSON: strict mode accepts a list for a tuple there only.
            text = json.dumps({place[-1]: value}, allow_nan=False)
            self._reading.values[key] = getattr(
                model.model_validate_json(text, strict=True), str(place[-1])
            )
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            self._misread(
                place, (*place[:-1], *first["loc"]), f"{first['msg']}{_got(first['input'])}"
            )
        except (TypeError, ValueError):
            self._misread(place, place, f"a value of this kind is not allowed here{_got(value)}")
        else:
            self._reading.origins[key] = self._origin(place)

    def _unknown(self, place: Place, model: type[BaseModel]) -> None:
        """Report an unknown key.

        One similar to a restriction counts as that restriction, misread.
        """
        key = ".".join(map(str, place))
        fields = [name for name in model.model_fields if name not in NOT_KEYS]
        alike = difflib.get_close_matches(
            str(place[-1]).lower().replace("-", "_"), fields, 1, _ALIKE
        )
        if not alike:
            self._report(place, f"unknown key `{shown(key)}`")
            return
        meant = (*place[:-1], alike[0])
        counts = alike[0] not in self._around(place) and self._restrict(meant, place)
        hint = f"is `{'.'.join(map(str, meant))}` meant?{_STRICTEST_APPLIES if counts else ''}"
        self._report(place, f"unknown key `{shown(key)}`; {hint}")

    def _around(self, place: Place) -> Mapping[str, Any]:
        values: Mapping[str, Any] = self._document.values
        for part in place[:-1]:
            values = values[str(part)]
        return values

    def _misread(self, key: Place, at: Place, problem: str) -> None:
        counts = _STRICTEST_APPLIES if self._restrict(key, at) else ""
        self._report(at, f"`{'.'.join(map(str, key))}`: {problem}{counts}")

    def _restrict(self, key: Place, at: Place) -> bool:
        """Apply the strictest value to a restricting key or group; return True if it is one."""
        name = ".".join(map(str, key))
        names = [one for one in STRICTEST if one == name or one.startswith(f"{name}.")]
        for one in names:
            self._reading.values[one] = STRICTEST[one]
            self._reading.origins[one] = self._origin(at)
        return bool(names)

    def _report(self, place: Place, text: str, *, is_error: bool = True) -> None:
        line = self._document.find_line(place)
        self._reading.problems.append(PolicyProblem(self._shown, line, text, is_error))

    def _origin(self, place: Place) -> str:
        return f"{self._shown}:{self._document.find_line(place)}"


def shown(value: Any) -> str:
    """Return an untrusted value, short enough for a message."""
    # A backtick would end the code span of the message.
    text = "".join(c if c.isprintable() else " " for c in str(value)).replace("`", "'")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _got(value: Any) -> str:
    return f" (got `{shown(value)}`)"
