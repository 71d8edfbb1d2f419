"""The page of the JSON API, written from its OpenAPI description."""

from collections.abc import Iterator
from typing import Any, cast

from bot.dashboard.access import API
from bot.dashboard.api import create_api
from bot.dashboard.parts import DashboardParts

INTRODUCTION = """# JSON API

`metaagent serve` and `metaagent web` answer programs under `/api`, with the content of [the pages](../howto/dashboard.md). It is
read-only; retry and cancel are in the pages and in [`metaagent`](command-line.md). `/api/openapi.json` describes every answer, for
generators of clients. The API is off if the pages are off.

| who | sends | reads |
| --- | --- | --- |
| the operator | the [token](../howto/dashboard.md#sign-in-on-one-machine), as `Authorization: Bearer TOKEN` | everything, folders of the machine and workers too |
| a person who signed in with GitHub | the cookie `metaagent_session`, as their browser does when they open an address of the API | their repositories; anything else is answered as if it did not exist |

Answers go over `https` or within the machine only, as the pages do:

```sh
curl --header "Authorization: Bearer $(cat dashboard.token)" "http://localhost:8080/api/missions?outcome=FIXED&since=1d"
```
"""
ERRORS = """## Errors

The body of each error is `{"detail": "…"}`.
"""
FORM = """## Form

Times are ISO 8601 in UTC. Every text is untrusted: it comes from repositories, logs and models. Secrets and control characters are
removed and very long texts are cut, but escape it wherever you show it. `detail` of a mission has the keys of its
[evidence](evidence.md), and is null once it has expired (`keep_days`). Ignore fields that you do not know.
"""


def api_page() -> str:
    """Tables of routes, parameters and errors."""
    # The description needs nothing that the routes ask.
    document = create_api(cast("DashboardParts", None)).openapi()
    operations = {path: one["get"] for path, one in document["paths"].items()}
    lines = ["## Routes", "", "| route | answers | fields |", "| --- | --- | --- |"]
    lines += [_route(path, one, document) for path, one in operations.items()]
    lines += ["", "## Parameters", "", "| route | parameter | values | meaning |"]
    lines += ["| --- | --- | --- | --- |"]
    for path, one in operations.items():
        lines += _parameters(path, one, document)
    errors: dict[str, str] = {}
    for one in operations.values():
        for status, answer in one["responses"].items():
            if status != "200":
                errors[status] = answer["description"]
    table = ["| status | meaning |", "| --- | --- |"]
    table += [f"| {status} | {text} |" for status, text in sorted(errors.items())]
    return "\n".join([INTRODUCTION, *lines, "", ERRORS, *table, "", FORM])


def _route(path: str, operation: dict[str, Any], document: dict[str, Any]) -> str:
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    fields = ", ".join(f"`{name}`" for name in _model(answer, document)["properties"])
    text = " ".join(operation["description"].split())
    return f"| `{API}{path}` | {text} | {fields} |"


def _parameters(path: str, operation: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    for one in operation.get("parameters", ()):
        if one["in"] == "query":
            values = _values(one["schema"], document)
            yield f"| `{API}{path}` | `{one['name']}` | {values} | {one.get('description', '')} |"


def _values(schema: dict[str, Any], document: dict[str, Any]) -> str:
    """The values of a parameter in words."""
    first = _model(schema.get("anyOf", [schema])[0], document)
    if "enum" in first:
        few = len(first["enum"]) <= 5
        return ", ".join(f"`{one}`" for one in first["enum"]) if few else "[outcomes](outcomes.md)"
    default = f"; {schema['default']} by default" if schema.get("default") else ""
    if first["type"] == "integer":
        return f"{first['minimum']} to {first['maximum']}{default}"
    return f"text, at most {first['maxLength']} characters{default}"


def _model(schema: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """A schema, or the one that it refers to."""
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = document["components"]["schemas"][name] if name else schema
    return found
