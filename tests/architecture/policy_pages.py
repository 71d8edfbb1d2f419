"""What a policy file may hold, as a JSON schema for editors and as a table for people: both from the model itself."""

import json
from typing import Any

from pydantic import TypeAdapter

from bot.domain.policy import DeliveryRule, RepositoryPolicy
from bot.policy.effective import describe_key
from bot.policy.keys import GROUPS, NOT_KEYS, STRICTEST, every_key

SCHEMA = "../../schemas/policy.schema.json"
"""Seen from the reference."""


def policy_schema() -> dict[str, Any]:
    """The JSON schema of `.github/metaagent.yml`."""
    schema = _plain(RepositoryPolicy.model_json_schema())
    for name in NOT_KEYS:
        del schema["properties"][name]
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "MetaAgent policy",
        "description": "What MetaAgent may do in a repository: .github/metaagent.yml on its default branch.",
    }
    # An empty file is a policy too.
    return {
        **head,
        **{key: value for key, value in schema.items() if key not in head},
        "type": ["object", "null"],
    }


def schema_text() -> str:
    """As it is published."""
    return json.dumps(policy_schema(), indent=2) + "\n"


def policy_page() -> str:
    """The reference of the policy."""
    lines = [
        "# Policy",
        "",
        "The settings of one repository, in `.github/metaagent.yml`, `metaagent.yml` or `[tool.metaagent]` of its",
        "`pyproject.toml`; see [how to write one](../howto/policy.md). Editors and checkers take the",
        f"[JSON schema]({SCHEMA}).",
        "",
        "| key | holds | default | misread, counts as | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    properties = policy_schema()["properties"]
    definitions = policy_schema()["$defs"]
    for key, model, name in every_key():
        group = key.partition(".")[0]
        known = (
            properties[name]
            if group == key
            else definitions[GROUPS[group].__name__]["properties"][name]
        )
        cells = (
            f"`{key}`",
            _holds(known),
            _code(known.get("default")),
            _misread(key),
            describe_key(model, name),
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "A rule of `deliver`:",
        "",
        "| key | holds | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    for name, known in definitions[DeliveryRule.__name__]["properties"].items():
        default = _code(known["default"]) if "default" in known else "must be given"
        lines.append(
            f"| `{name}` | {_holds(known)} | {default} | {describe_key(DeliveryRule, name)} |"
        )
    return "\n".join(lines) + "\n"


def _plain(node: Any) -> Any:
    """Without the titles that only repeat names; null is no value but where a field says so."""
    if isinstance(node, dict):
        return {
            key: _plain(value)
            for key, value in node.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [_plain(item) for item in node] if isinstance(node, list) else node


def _holds(known: dict[str, Any]) -> str:
    if "anyOf" in known:
        return " or ".join(_holds(one) for one in known["anyOf"])
    if "enum" in known:
        return ", ".join(_code(value) for value in known["enum"])
    if "$ref" in known:
        return "a rule"
    if known["type"] == "array":
        items = _holds(known["items"])
        return f"a list of {'rules' if items == 'a rule' else items}"
    least = known.get("minimum", known.get("exclusiveMinimum"))
    more = "more than " if "exclusiveMinimum" in known else ""
    span = (
        f", {more}{least:g} to {known['maximum']:g}"
        if "maximum" in known and least is not None
        else ""
    )
    pattern = f" like `{known['pattern']}`" if "pattern" in known else ""
    return f"{known['type']}{span}{pattern}"


def _misread(key: str) -> str:
    if key not in STRICTEST:
        return "not set"
    return _code(TypeAdapter(Any).dump_python(STRICTEST[key], mode="json", exclude_defaults=True))


def _code(value: Any) -> str:
    return f"`{json.dumps(value)}`"
