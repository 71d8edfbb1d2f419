"""metaagent action: one workflow step, from its event to report, patch and outputs."""

import asyncio
import base64
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from pydantic import SecretStr

from bot.action.delivery import deliver
from bot.action.event import RunnerFacts, read_event
from bot.action.inputs import ActionInputs
from bot.action.report import EVIDENCE, read_mission
from bot.action.rights import workspace_policy
from bot.action.runner_files import Done, RunnerFiles
from bot.action.step import Step, describe_error
from bot.action.step_summary import commands_stopped, harmless, write_mask
from bot.domain.admission import Admission
from bot.domain.evidence import KeptEvidence
from bot.domain.mission import MissionContext
from bot.domain.request import CheckRef, Ignored, RepositoryRef
from bot.errors import MetaAgentError, NotPermitted, UsageError
from bot.evidence.keep import EvidenceFile
from bot.intake.admission import admit
from bot.intake.folder import folder_checkout
from bot.intake.guards import NOT_TESTS, RED
from bot.pipeline import handle_admitted
from bot.publish.markdown import SafeWriter
from bot.publish.progress import TerminalProgress
from bot.queue.memory import MemoryCheckpoint
from bot.settings import GITHUB_API, KEYS, MODELS, Settings, load
from bot.telemetry import set_up_logging
from bot.wiring.github import ActionGitHub, connect
from bot.wiring.mission_services import (
    BuildMissionServices,
    build_mission_services,
    open_mission_services,
)
from sandbox.errors import SandboxError
from sandbox.gate import prepare_needles
from sandbox.types import TrustTier

DONE = 0
"""Also without a fix: the job that tests is already red, and the output `outcome` has the
details."""

ERROR = 2
"""Exit status for an error in the step's configuration or in MetaAgent."""
# GitHub's payloads have at most 25 MB.
_EVENT_BYTES = 32 << 20
_DEPENDABOT = "dependabot[bot]"

Connect = Callable[[SecretStr, str], ActionGitHub]
"""Returns GitHub for a token and the address of its API."""


def run_action(
    environment: Mapping[str, str],
    *,
    build: BuildMissionServices = build_mission_services,
    connect: Connect = connect,
    out: TextIO | None = None,
) -> int:
    """Run the step and return its exit status.

    Args:
        environment: Inputs (`INPUT_MODE`) and the runner's variables (`GITHUB_EVENT_NAME`).
        build: Builds the external dependencies from settings.
        connect: Returns GitHub for a token.
        out: The step's log.
    """
    out = out or sys.stdout
    files, hidden = RunnerFiles.of(environment, out), _hidden(environment)
    # First of all: the runner masks only what is logged after the command.
    for secret in hidden:
        write_mask(secret, out)
    try:
        inputs = ActionInputs.of(environment)
        with commands_stopped(out, "MetaAgent"), _log_own_faults(out, hidden):
            done = _run(inputs, environment, build=build, connect=connect, out=out)
        if isinstance(done, Ignored):
            files.ignored(done.reason)
        else:
            files.done(done, _folder(environment))
    except (MetaAgentError, SandboxError) as error:
        files.failed(describe_error(error), SafeWriter(secrets=prepare_needles(hidden)))
        return ERROR
    return DONE


def _hidden(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets, also in the form that a token has on its way to git."""
    token = environment.get("INPUT_GITHUB_TOKEN", "").strip()
    pair = base64.b64encode(f"x-access-token:{token}".encode()).decode("ascii") if token else ""
    keys = (
        environment.get(name, "").strip()
        for name in ("INPUT_API_KEY", *chain.from_iterable(KEYS.values()))
    )
    return tuple(secret for secret in (token, pair, *keys) if secret)


@contextmanager
def _log_own_faults(out: TextIO, hidden: tuple[str, ...]) -> Iterator[None]:
    """Log internal errors where no line is a command, and end the step like any other error."""
    try:
        yield
    except (MetaAgentError, SandboxError):
        raise
    except Exception as error:
        out.write(
            harmless(SafeWriter(secrets=prepare_needles(hidden)).block(traceback.format_exc()))
        )
        message = (
            f"something broke inside MetaAgent ({type(error).__name__}); this is our fault, "
            "not yours"
        )
        raise MetaAgentError(message, "report it with the lines in the log") from error


def _run(
    inputs: ActionInputs,
    environment: Mapping[str, str],
    *,
    build: BuildMissionServices,
    connect: Connect,
    out: TextIO,
) -> Done | Ignored:
    runner = RunnerFacts.of(environment)
    event = read_event(_payload(environment), runner, branch_prefix=inputs.branch_prefix)
    if isinstance(event, Ignored):
        return event
    settings = _settings(inputs, environment, trusted=not event.from_fork)
    # GitHub gives neither of these runs the secrets of Actions.
    if event.from_fork or _DEPENDABOT in event.actors:
        settings = _without_keyless_models(settings)
    token = inputs.github_token
    secrets = tuple(SecretStr(secret) for secret in inputs.secrets)
    set_up_logging(level=settings.log_level, secrets=(*settings.secrets, *secrets), stream=out)
    step = Step(
        inputs=inputs,
        event=event,
        settings=settings,
        workspace=Path(environment.get("GITHUB_WORKSPACE") or "."),
        folder=_folder(environment),
        own_token=token.get_secret_value() == environment.get("WORKFLOW_TOKEN"),
        out=out,
        build=build,
        github=connect(token, settings.github_api_url)
        if token.get_secret_value() and event.repository
        else None,
    )
    return asyncio.run(_work(step))


def _payload(environment: Mapping[str, str]) -> Mapping[str, Any]:
    path = environment.get("GITHUB_EVENT_PATH")
    try:
        with Path(path or os.devnull).open("rb") as file:
            content = json.loads(file.read(_EVENT_BYTES) or b"{}")
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(
            f"the event's file cannot be read ({type(error).__name__})", "run it in a workflow"
        ) from error
    return content if isinstance(content, dict) else {}


def _folder(environment: Mapping[str, str]) -> Path:
    """Return `metaagent` in the folder that the runner empties after the job."""
    return Path(environment.get("RUNNER_TEMP") or ".") / "metaagent"


def _settings(inputs: ActionInputs, environment: Mapping[str, str], *, trusted: bool) -> Settings:
    """Return the settings of this step.

    No file of the checkout decides where the token is sent, or where data is stored.
    """
    options = {
        "github_api_url": environment.get("GITHUB_API_URL") or GITHUB_API,
        "data_dir": str(_folder(environment) / "data"),
    }
    if inputs.model is not None:
        options["model"] = inputs.model
    if inputs.api_key.get_secret_value():
        options["model_key"] = inputs.api_key.get_secret_value()
    if inputs.max_cost_usd is not None:
        options["models.usd_per_mission"] = str(inputs.max_cost_usd)
    if inputs.max_attempts is not None:
        options["limits.iterations"] = str(inputs.max_attempts)
    file = Path(os.devnull)  # never the file of the current folder
    # A fork's author controls every file of the checkout.
    if inputs.config is not None and trusted:
        file = Path(environment.get("GITHUB_WORKSPACE") or ".") / inputs.config
    return load(options, environment=environment, file=file)


def _without_keyless_models(settings: Settings) -> Settings:
    """Drop models without keys: GitHub gives some runs no secrets, which is no mistake."""
    return settings if settings.keys else settings.model_copy(update=dict.fromkeys(MODELS))


# --- mission ------------------------------------------------------------------------------------


async def _work(step: Step) -> Done:
    step.folder.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        if step.github is not None:
            stack.push_async_callback(step.github.aclose)
            step = await _with_pull_request(step)
        if step.inputs.from_report is not None:
            context, kept = read_mission(step.workspace / step.inputs.from_report), KeptEvidence()
        else:
            context, kept = await _mission(step)
        return await deliver(step, context, kept)


async def _mission(step: Step) -> tuple[MissionContext, KeptEvidence]:
    admission = await _admission(step)
    evidence = EvidenceFile(step.folder / EVIDENCE, step.settings.evidence)
    async with open_mission_services(
        step.settings, step.build, TerminalProgress(step.out)
    ) as opened:
        services = replace(
            opened, keep_evidence=evidence.keep, secrets=(*opened.secrets, *step.secrets)
        )
        github = step.github if step.is_remote else None
        context = await handle_admitted(admission, services, MemoryCheckpoint(), github)
    return context, evidence.kept


async def _admission(step: Step) -> Admission:
    """Return the work: the workspace as it is, or the failing commit from GitHub."""
    request, inputs = step.request(), step.inputs
    if not step.is_remote:
        folder = str((step.workspace / inputs.working_directory).resolve())
        policy = await workspace_policy(step.event, step.github)
        found, checkout = await folder_checkout(folder, inputs.test_command, policy=policy)
        local = request.with_(repository=None, folder=folder, tier=TrustTier.LOCAL)
        if step.event.from_fork:
            # A self-hosted runner keeps environments: a fork's must serve that fork only.
            fork = step.event.head_repository_id
            checkout = checkout.with_(
                tier=TrustTier.FORK, head_repository_id=None if fork is None else str(fork)
            )
        return _narrow(Admission(request=local, policy=found, checkout=checkout), inputs)
    if step.github is None or request.repository is None:
        raise UsageError(
            "the failing commit cannot be fetched without a token", "give the input github-token"
        )
    known = request.with_(
        check=await _red_check(step.github, request.repository, request.head_sha or "")
    )
    return _narrow(await admit(known, step.github, secrets=step.secrets), inputs)


def _narrow(admission: Admission, inputs: ActionInputs) -> Admission:
    policy = inputs.policy(admission.policy)
    return admission.with_(policy=policy, request=admission.request.with_(rungs=policy.rungs))


async def _with_pull_request(step: Step) -> Step:
    """Look up the pull request, which GitHub does not name for runs on forks."""
    event, github = step.event, step.github
    if (
        github is None
        or event.repository is None
        or not event.from_fork
        or event.pull_request is not None
    ):
        return step
    pulls = await github.open_pull_requests(event.repository)
    number = next((pull.number for pull in pulls if pull.head_sha == event.head_sha), None)
    return replace(step, event=event.with_(pull_request=number))


async def _red_check(github: ActionGitHub, repository: RepositoryRef, sha: str) -> CheckRef | None:
    """Return the first red job of the commit; None leaves detection to the tests."""
    try:
        found = await github.check_runs(repository, sha)
    except NotPermitted:
        return None  # without `checks: read` the tests themselves decide
    runs = [run for run in found if run.conclusion in RED and run.app_slug not in NOT_TESTS]
    if not runs:
        return None
    run = min(runs, key=lambda one: (one.app_slug != "github-actions", one.id))
    return CheckRef(
        id=run.id, name=run.name, app_slug=run.app_slug, conclusion=run.conclusion or "failure"
    )
