"""Real job logs: the step, the line that tells, the excerpt, the failures and the signals of each."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from sandbox.runners.ci_log import read_log
from sandbox.types import LogReading, LogSignal, TestStatus

pytestmark = pytest.mark.shared
ANSI = re.compile(r"\x1b\[[0-9;]*m")
DYNAMO = "dynamo/test_dynamic_shapes.py"
GROUPS = str.maketrans("", "", "\u2039\u203a")
"""Around the part of the marked line that the collection's own rule names."""
STAMP = re.compile(r"^\d{4}-\d\d-\d\dT[\d:.]+Z ?")


class Expected(NamedTuple):
    """What one log has to give. `error` is a part of the line that tells best."""

    error: str
    step: str | None = None
    exit_code: int | None = None
    signals: tuple[LogSignal, ...] = ()
    failing: tuple[str, ...] = ()


EXPECTED = {
    "aws_credentials_load_failure": Expected(
        "Credentials could not be loaded",
        "aws-actions/configure-aws-credentials@8df5847569e6427dd6c4fb1cf565c83acfa8afa7",
        1,
        (LogSignal.CREDENTIALS,),
    ),
    "collection_assertionerror": Expected("AssertionError: The following functions are not tested"),
    "cuda_oom_class": Expected(
        "torch.OutOfMemoryError: CUDA out of memory", signals=(LogSignal.OUT_OF_MEMORY,)
    ),
    "dirty_checkout": Expected("Build left local git repository checkout dirty"),
    "distributed_test_wrapper": Expected(
        "distributed/test_c10d_torchcomms 1/1 failed!", exit_code=1
    ),
    "docker_manifest_unknown": Expected(
        "Error response from daemon: manifest for python:3.14t not found",
        "Initialize containers",
        1,
        (LogSignal.REGISTRY,),
    ),
    "error_log1": Expected(
        "TimeoutError: The read operation timed out", "set -x", 1, (LogSignal.NETWORK,)
    ),
    "gha_catchall_sigint": Expected("received SIGINT", signals=(LogSignal.CANCELLED,)),
    "gha_operation_canceled": Expected(
        "The operation was canceled.", signals=(LogSignal.CANCELLED,)
    ),
    "ghstack_cherry_pick": Expected("subprocess.CalledProcessError: Command '['git'", exit_code=1),
    "ghstack_old_version_pr_count": Expected(
        "RuntimeError: Found an unexpected number of PRs", "set -ex", 1
    ),
    "ghstack_too_deep": Expected(
        "PR #190825 sits on top of >=10 ghstack entries; refusing to run CI", exit_code=1
    ),
    "msvc_compiler_error": Expected(
        "'PTI_VIEW_COMMUNICATION': undeclared identifier",
        failing=(
            "third_party/kineto/libkineto/src/plugin/xpupti/XpuptiActivityProfilerSession.h:89:C2143",
        ),
    ),
    "pip_wheel_build_failure": Expected("ERROR: Failed building wheel for torchcomms"),
    "pr_sanity_exit_code_only": Expected(
        "Your PR is 3174 LOC which is more than the 2000 maximum",
        "bash .github/scripts/pr-sanity-check.sh",
        1,
    ),
    "pytest_failures_section": Expected(
        "TorchDynamoException: Unexpected exception when running generated GraphModule",
        exit_code=1,
        failing=("test/test_torch.py::TestTorchDeviceTypeCPU::test_cauchy_kstest_cpu_bfloat16",),
    ),
    "python_importerror_name": Expected(
        "ImportError: cannot import name 'python_constant_richcompare_impl'"
    ),
    "python_runtimeerror": Expected("Linter failed.", exit_code=1),
    "s3_access_denied": Expected(
        "Error uploading logs-test-default", signals=(LogSignal.CREDENTIALS,)
    ),
    "test_file_failed_wrapper": Expected("AttributeError: module 'torch._C' has no attribute"),
    "test_file_signal_crash": Expected(
        "nn/test_pruning 1/1 failed! Received signal: SIGBUS", exit_code=1
    ),
    "unittest_failed_consistently": Expected(
        "InternalTorchDynamoError: NameError: name 'cell_and_freevars'",
        failing=(
            f"{DYNAMO}::DynamicShapesReproTests::test_vars_traced_correctly_under_compile_dynamic_shapes",
        ),
    ),
    "uv_python_download_failed": Expected(
        "Error while fetching remote python downloads json",
        exit_code=2,
        signals=(LogSignal.NETWORK,),
    ),
}


class Recorded(NamedTuple):
    """A log, and the line of it that a person marked as the cause."""

    log: str
    cause: str


def found(shared: Path, name: str) -> Path:
    """Return the file of a log; skip the test where the recorded set is another one."""
    path = shared / f"github/logs/{name}.txt"
    if not path.is_file():
        pytest.skip(f"the recorded logs hold no {name}")
    return path


def recorded(shared: Path, name: str) -> Recorded:
    return marked(found(shared, f"pytorch_test-infra__{name}"))


def marked(path: Path) -> Recorded:
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if not line.startswith("#=SOURCE=#")]
    marked = next((line for line in lines if line.startswith("#=MATCH=# ")), "")
    plain = [line.removeprefix("#=MATCH=# ").translate(GROUPS) for line in lines]
    cause = STAMP.sub("", ANSI.sub("", marked.removeprefix("#=MATCH=# "))).translate(GROUPS)
    return Recorded("\n".join(plain), cause.strip())


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_log_is_read(shared: Path, name: str) -> None:
    log, cause = recorded(shared, name)
    expected, reading = EXPECTED[name], read_log(log)
    assert cause[:200] in reading.excerpt
    assert expected.error in reading.error
    assert (reading.step, reading.exit_code) == (expected.step, expected.exit_code)
    assert reading.signals == expected.signals
    assert set(reading.signs) == set(expected.signals)
    assert set(expected.failing) <= reading.failing
    assert len(reading.excerpt.encode()) <= 9 * 1024
    assert bool(reading.failures) == bool(expected.failing)


def test_the_marked_cause_of_nearly_every_log_is_in_its_excerpt(shared: Path) -> None:
    logs = {path.name: marked(path) for path in sorted((shared / "github/logs").glob("*.txt"))}
    caused = {name: log for name, log in logs.items() if log.cause}
    missed = [
        name for name, (log, cause) in caused.items() if cause[:200] not in read_log(log).excerpt
    ]
    assert len(missed) <= len(caused) / 20, missed


def test_a_green_log_says_nothing(shared: Path) -> None:
    log = found(shared, "hub4j_github-api__job-log-2021").read_text(encoding="utf-8")
    assert read_log(log) == LogReading()


def test_the_failing_test_has_its_place_and_its_traceback(shared: Path) -> None:
    (failure,) = read_log(recorded(shared, "pytest_failures_section").log).failures
    assert failure.status is TestStatus.FAIL
    assert (failure.file, failure.line) == ("test/test_torch.py", 2445)
    assert failure.error == "TorchDynamoException"
    assert failure.traceback is not None
    assert "in test_cauchy_kstest" in failure.traceback


def test_an_excerpt_is_no_tail(shared: Path) -> None:
    """The steps after the failed one fill the end of this log."""
    log = recorded(shared, "error_log1").log
    reading = read_log(log)
    assert "cleanup.sh" in log[-3000:]
    assert "cleanup.sh" not in reading.excerpt
    assert "OSError: We couldn't connect to 'https://huggingface.co'" in reading.excerpt
