"""Starts a local GitHub from the shell: `python -m tests.github_server --port 0 --data DIR`."""

import argparse
import json
import signal
import sys
import threading
from pathlib import Path

from tests.github_server.server import LocalGitHub, Options


def main() -> int:
    """Serve until interrupted; the first line of output is a JSON object with everything a client needs."""
    parser = argparse.ArgumentParser(prog="python -m tests.github_server", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free port")
    parser.add_argument("--data", type=Path, required=True, help="where the repositories live")
    parser.add_argument(
        "--openapi", type=Path, default=None, help="the folder with GitHub's description"
    )
    parser.add_argument(
        "--python", type=Path, default=Path(sys.executable), help="what python means in CI steps"
    )
    parser.add_argument("--webhook-url", default="", help="where webhooks go (loopback only)")
    arguments = parser.parse_args()
    options = Options(
        data=arguments.data,
        port=arguments.port,
        openapi_dir=arguments.openapi,
        ci_python=arguments.python,
    )
    with LocalGitHub(options) as github:
        github.webhook_url = arguments.webhook_url
        key = arguments.data / "app.pem"
        key.touch(0o600)
        key.write_text(github.private_key_pem, encoding="utf-8")
        ready = {
            "api_url": github.api_url,
            "web_url": github.web_url,
            "app_id": github.app_id,
            "private_key_file": str(key),
            "webhook_secret": github.webhook_secret,
            "mode": github.describe(),
        }
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        ended = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        ended.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
