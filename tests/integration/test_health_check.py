"""The image's own health check, on a service that waits for its App."""

import json
import os
import shlex
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 300.0


def health_check() -> list[str]:
    """Return the program that the Dockerfile names, with this Python."""
    (line,) = [
        line
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if line.startswith("HEALTHCHECK ")
    ]
    words: list[str] = json.loads(line.removeprefix("HEALTHCHECK CMD "))
    return [sys.executable, *words[1:]]


@pytest.mark.slow
def test_a_container_without_an_app_is_healthy_and_not_ready(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("METAAGENT_")}
    environment = {
        **kept,
        "METAAGENT_DATA_DIR": str(tmp_path / "data"),
        "METAAGENT_PORT": str(port),
    }
    log = tmp_path / "log"
    with log.open("wb") as out:
        service = subprocess.Popen(
            [sys.executable, "-m", "bot", "serve"],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=out,
        )
    try:
        end = time.monotonic() + WITHIN_S
        while (
            status := subprocess.run(
                health_check(), env=environment, capture_output=True, check=False
            )
        ).returncode:
            assert service.poll() is None, log.read_text()
            assert time.monotonic() < end, f"{shlex.join(health_check())}: {status.stderr.decode()}"
            time.sleep(0.2)
        ready = httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False)
        assert ready.status_code == 503
        assert "GitHub App" in ready.json()["missing"][0]
    finally:
        service.terminate()
        service.wait(20)
