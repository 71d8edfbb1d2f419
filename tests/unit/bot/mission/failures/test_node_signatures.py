"""What messages of Node.js, npm, pnpm, yarn and bun say is missing."""

import pytest

from bot.domain.mission import Outcome
from bot.mission.failures.node_signatures import missing_node_part, missing_package
from bot.mission.failures.setup_log import find_missing_part
from bot.mission.failures.signatures import missing_modules
from bot.mission.steps import classify_error
from sandbox.errors import SetupFailed
from sandbox.types import RunVerdict, TestReport, TestResult, TestStatus

NPM_DRIFT = (
    "npm error code EUSAGE\nnpm error `npm ci` can only install packages when your package.json"
    " and package-lock.json or npm-shrinkwrap.json are in sync."
)
DRIFT = "the lock file does not fit `package.json`: install again and commit the lock file"


@pytest.mark.parametrize(
    ("message", "package"),
    [
        ("Error: Cannot find module 'left-pad'", "left-pad"),
        ("Error: Cannot find module '@scope/x/deep/file.js'", "@scope/x"),
        ("Cannot find package 'chai' imported from /work/repo/t.mjs", "chai"),
        ('Failed to resolve import "vue" from "src/a.ts". Does the file exist?', "vue"),
        ("Cannot find module './own' from 'a.test.js'", None),
        ("Cannot find module '/work/repo/dist/index.js'", None),
    ],
)
def test_a_missing_package_is_named_and_a_missing_file_is_none(
    message: str, package: str | None
) -> None:
    assert missing_package(message) == package


@pytest.mark.parametrize(
    ("message", "part"),
    [
        (
            "The module 'x.node' was compiled against a different Node.js version using",
            "a compiled package was built for another Node.js",
        ),
        (
            "Error: Cannot find module @rollup/rollup-linux-x64-gnu. npm has a bug",
            "the compiled part of `@rollup/rollup-linux-x64-gnu` is not installed",
        ),
        (
            "Executable doesn't exist at /root/.cache/ms-playwright/chromium-1/chrome",
            "the browser `chrom` is not installed",
        ),
        ("AssertionError: 1 == 2", None),
    ],
)
def test_missing_parts_of_node_are_described(message: str, part: str | None) -> None:
    assert missing_node_part(message) == part


@pytest.mark.parametrize(
    ("log", "part"),
    [
        (NPM_DRIFT, DRIFT),
        ("ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with frozen-lockfile", DRIFT),
        ("YN0028: The lockfile would have been modified by this install", DRIFT),
        ("error Your lockfile needs to be updated, but yarn was run with `--frozen", DRIFT),
        ("error: lockfile had changes, but lockfile is frozen", DRIFT),
        (
            "npm error code ETARGET\nnpm error notarget No matching version found for a@^9.\n",
            "no version `a@^9` is in the registry",
        ),
        (
            "npm error 404  'no-such@^1.0.0' is not in this registry.",
            "there is no package `no-such@^1.0.0` in the registry",
        ),
    ],
)
def test_logs_of_package_managers_name_the_missing_part(log: str, part: str) -> None:
    assert find_missing_part(log) == part


def red(message: str) -> TestReport:
    failure = TestResult(name="a.test.js", status=TestStatus.ERROR, error_message=message)
    return TestReport(
        success=False,
        failed=True,
        exit_code=1,
        target="npx vitest run",
        summary="1 error",
        failure_count=1,
        failures=(failure,),
        verdict=RunVerdict.FAIL,
    )


def test_a_package_of_the_checkout_is_no_missing_one() -> None:
    report = red("Cannot find module '@shop/core' from 'a.test.js'")
    assert missing_modules(report, ["a.test.js"]) == ("@shop/core",)
    assert missing_modules(report, ["packages/core/index.js"]) == ()


def test_a_lock_file_that_does_not_fit_is_a_question_and_no_broken_environment() -> None:
    error = SetupFailed("Set-up failed: could not install.", "Read its output.", log=NPM_DRIFT)
    trouble = classify_error(error, "m-1:one")
    assert trouble.outcome is Outcome.NEEDS_HUMAN
    assert trouble.question is not None
    assert trouble.reason.endswith(DRIFT)
