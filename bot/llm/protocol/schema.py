"""JSON schema of a message with its envelope, for servers with structured output."""

from typing import Any

from bot.llm.protocol.messages import Message

_KEPT = frozenset({"type", "enum", "const", "items", "anyOf", "minimum", "maximum"})


def build_schema(returns: type[Message]) -> dict[str, Any]:
    """Return a strict schema: closed objects, all properties required, no references.

    Args:
        returns: The message type.
    """
    schema = returns.model_json_schema()
    payload = _plain(schema, schema.get("$defs", {}))
    return _object(
        {
            "type": {"type": "string", "enum": [returns.type]},
            "version": {"type": "integer", "enum": [1]},
        }
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
    """Return a schema without references, titles and defaults.

    Free-form mappings are omitted, because strict schemas do not support them.
    """
    if "$ref" in schema:
        return _plain(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "properties" in schema:
        named = {
            name: _plain(one, definitions)
            for name, one in schema["properties"].items()
            if not _is_free(one)
        }
        return _object(named)
    plain = {name: value for name, value in schema.items() if name in _KEPT}
    if "items" in plain:
        plain["items"] = _plain(plain["items"], definitions)
    if "anyOf" in plain:
        plain["anyOf"] = [_plain(one, definitions) for one in plain["anyOf"]]
    return plain


def _is_free(schema: dict[str, Any]) -> bool:
    return "additionalProperties" in schema and "properties" not in schema
