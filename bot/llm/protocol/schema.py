"""The JSON schema of a message in its envelope, for servers that hold a model to one."""

from typing import Any

from bot.llm.protocol.messages import Message

_KEPT = frozenset({"type", "enum", "const", "items", "anyOf", "minimum", "maximum"})


def schema_of(returns: type[Message]) -> dict[str, Any]:
    """Strict: no other properties, all of them required, nothing refers to anything else.

    Args:
        returns: The type asked for.
    """
    schema = returns.model_json_schema()
    payload = _plain(schema, schema.get("$defs", {}))
    return _object(
        {"type": {"type": "string", "enum": [returns.type]}, "version": {"type": "integer", "enum": [1]}}
        | {"payload": payload}
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _plain(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """A schema without references, titles and defaults. A mapping of anything has no place in a strict schema."""
    if "$ref" in schema:
        return _plain(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "properties" in schema:
        named = {name: _plain(one, definitions) for name, one in schema["properties"].items() if not _is_free(one)}
        return _object(named)
    plain = {name: value for name, value in schema.items() if name in _KEPT}
    if "items" in plain:
        plain["items"] = _plain(plain["items"], definitions)
    if "anyOf" in plain:
        plain["anyOf"] = [_plain(one, definitions) for one in plain["anyOf"]]
    return plain


def _is_free(schema: dict[str, Any]) -> bool:
    return "additionalProperties" in schema and "properties" not in schema
