"""The page of a pull request, for people who look at the demo in a browser."""

from html import escape

from starlette.responses import HTMLResponse, Response

from tests.github_server.hub import Hub

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color-scheme:light dark}pre{white-space:pre-wrap;overflow-wrap:anywhere}"
)


def show_pull_request(hub: Hub, owner: str, name: str, number: int) -> Response:
    """Return the title and the Markdown of a pull request, as text."""
    repository = hub.world.find(owner, name)
    issue = repository.issues.get(number) if repository is not None else None
    if repository is None or issue is None or issue.pull is None:
        return Response("Not Found", 404)
    pull = issue.pull
    title = escape(f"{issue.title} #{number}")
    line = escape(
        f"{repository.full_name}: {issue.user} wants to merge {pull.head_ref} into {pull.base_ref}"
    )
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        f"<style>{STYLE}</style><h1>{title}</h1><p>{line}</p><pre>{escape(issue.body or '')}</pre>"
    )
    return HTMLResponse(page, headers={"content-security-policy": POLICY})
