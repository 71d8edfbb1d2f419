"""The set-up pages as HTML; all values are escaped here."""

import base64
import hashlib
import json
from collections.abc import Mapping
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --accent: #1f6feb; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h1 small { font-weight: normal; opacity: .7; }
label { display: block; margin: 1rem 0 .2rem; font-weight: 600; }
label.choice { font-weight: normal; }
input:not([type=checkbox]) {
  width: 100%; box-sizing: border-box; font: inherit; padding: .45rem .6rem;
  border: 1px solid var(--line); border-radius: 6px; }
p.hint { margin: .2rem 0; opacity: .75; font-size: .9rem; }
button { margin-top: 1.5rem; font: inherit; font-weight: 600; padding: .55rem 1.1rem;
  border: 0; border-radius: 6px; background: var(--accent); color: #fff; cursor: pointer; }
.wrong { border-left: 4px solid #d1242f; padding: .2rem .8rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-top: 1px solid var(--line); padding: .3rem .5rem; }
th { font-weight: normal; text-align: left; }
code { overflow-wrap: anywhere; }
"""
_SCRIPT = (
    'const field = document.getElementById("code"); if (field && location.hash.length > 1) '
    '{ field.value = location.hash.slice(1); history.replaceState(null, "", location.pathname); }'
)
"""Reads the code from the URL's fragment, which browsers do not send, so that no log has it."""

_MEANINGS = {
    "metadata": "list repositories and their writers",
    "contents": "fetch code, commit fixes (to its own branches, unless a policy allows others)",
    "pull_requests": "open pull requests, answer comments",
    "issues": "read commands in comments",
    "checks": "read failed checks, show its own",
    "actions": "read logs of failed jobs; with write, run jobs again on request",
    "statuses": "read failed statuses of other CI",
}


def policy(github: str) -> str:
    """Return the content security policy: only these pages, and forms to GitHub."""
    style, script = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (_STYLE, _SCRIPT)
    )
    return (
        f"default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; "
        f"form-action 'self' {github}; base-uri 'none'; frame-ancestors 'none'"
    )


def code_page(*, wrong: str = "") -> str:
    """Return the page that asks for the code."""
    return _page(
        "Set up MetaAgent",
        f"""{_wrong(wrong)}
<p>Enter the code from the console on which MetaAgent was started. It works once.</p>
<form method="post" action="/setup/enter">
<label for="code">Code</label>
<input id="code" name="code" type="password" autocomplete="off" required autofocus>
<button>Continue</button>
</form><script>{_SCRIPT}</script>""",
    )


def app_page(*, name: str, organization: str, address: str, wrong: str = "") -> str:
    """Return the page that asks for the App's data."""
    return _page(
        "Your GitHub App <small>1 of 2</small>",
        f"""{_wrong(wrong)}
<p>MetaAgent acts on GitHub as your own App: private, with only the rights that it uses.</p>
<form method="post" action="/setup/manifest">
<label for="name">Name of the App</label>
<input id="name" name="name" maxlength="34" required value="{escape(name)}">
<p class="hint">Must be free on GitHub, where you can still change it.</p>
<label for="organization">Organization</label>
<input id="organization" name="organization" maxlength="39" value="{escape(organization)}">
<p class="hint">Leave it empty for your own account.</p>
<label for="address">Address at which GitHub reaches this service</label>
<input id="address" name="address" type="url" required value="{escape(address)}">
<p class="hint">Webhooks go to <code>/webhook</code> below it.</p>
<label class="choice"><input type="checkbox" name="reruns" value="yes" checked>
It may run jobs again on request (permission: actions, write)</label>
<label class="choice"><input type="checkbox" name="dashboards" value="yes">
It may keep a dashboard issue in repositories that want one (permission: issues, write)</label>
<button>Continue</button>
</form>""",
    )


def manifest_page(content: Mapping[str, Any], action: str) -> str:
    """Return the page that shows the requested permissions and sends the manifest to GitHub."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name.replace("_", " "))}</th><td>{escape(level)}</td>'
        f"<td>{_MEANINGS.get(name, '')}</td></tr>"
        for name, level in content["default_permissions"].items()
    )
    return _page(
        "What the App may do <small>2 of 2</small>",
        f"""<table>{rows}</table>
<p>Events: {escape(", ".join(content["default_events"]).replace("_", " "))}. It cannot change
workflows, settings or members.</p>
<p>Webhooks: <code>{escape(content["hook_attributes"]["url"])}</code></p>
<form method="post" action="{escape(action)}">
<input type="hidden" name="manifest" value="{escape(json.dumps(content, sort_keys=True))}">
<button>Create the App on GitHub</button>
</form>
<p class="hint">GitHub asks you to confirm and sends you back; then you choose repositories.</p>""",
    )


def refusal_page(title: str, message: str, advice: str = "") -> str:
    """Return an error page."""
    return _page(escape(title), f'<p class="wrong">{escape(message)}</p><p>{escape(advice)}</p>')


def _wrong(text: str) -> str:
    return f'<p class="wrong" role="alert">{escape(text)}</p>' if text else ""


def _page(title: str, body: str) -> str:
    plain = title.partition("<")[0].strip()
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{plain}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><main><h1>{title}</h1>{body}</main></body></html>"
    )
