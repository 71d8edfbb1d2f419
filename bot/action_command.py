"""metaagent action: one step of a workflow, from its event to report, patch, outputs and what `mode` asks for."""

import asyncio
import base64
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

from pydantic import SecretStr

from bot.command import BuildLine, open_line
from bot.domain.admission import Admission
from bot.domain.evidence import KeptEvidence
from bot.domain.mission import MissionContext, Outcome
from bot.domain.policy import RepositoryPolicy
from bot.domain.publication import Publication
from bot.domain.request import CheckRef, Ignored, MissionRequest, RepositoryRef, Trigger
from bot.errors import GitHubError, MetaAgentError, NotPermitted, UsageError
from bot.evidence.keep import EvidenceFile
from bot.github.staged import Notebook, StagedGitHub, StagedUpkeep
from bot.intake.action_event import ActionEvent, RunnerFacts, read_event
from bot.intake.action_inputs import ActionInputs
from bot.intake.action_rights import why_nothing_is_written, workspace_policy
from bot.intake.admission import admit
from bot.intake.guards import NOT_TESTS, RED
from bot.lessons.calibration import confidence_by_rules
from bot.pipeline import folder_checkout, handle_admitted
from bot.policy.policy_file import load_policy
from bot.progress import TerminalProgress
from bot.publish.action_report import EVIDENCE, read_mission, write_report
from bot.publish.carry_over import carry_over
from bot.publish.markdown import Pen
from bot.publish.places import Places
from bot.publish.publisher import publish_outcome
from bot.publish.runner_files import Done, RunnerFiles
from bot.publish.step_summary import commands_stopped, harmless, write_mask
from bot.publish.story import Story, a_story
from bot.queue.memory import MemoryCheckpoint
from bot.settings import GITHUB_API, KEYS, MODELS, Settings, load
from bot.telemetry import set_up_logging
from bot.wiring.action import ActionGitHub, connect
from bot.wiring.line import build_line
from sandbox.errors import SandboxError
from sandbox.gate import needles_of
from sandbox.types import TrustTier

DONE = 0
"""Also when there is no fix: the job that tests is red already, the output `outcome` tells the rest."""

ERROR = 2
_EVENT_BYTES = 32 << 20
_DEPENDABOT = "dependabot[bot]"

Connect = Callable[[SecretStr, str], ActionGitHub]
"""From a token and the address of GitHub's API to GitHub."""

NO_CHECKS = (
    "It was written with the workflow's own token, so GitHub starts no checks on it by itself: approve them in the "
    "pull request, or close and reopen it, or give `github-token` the token of an App."
)


NO_PUSH = "With `from-report` a fix is never pushed straight onto the red branch: a pull request takes its place."
NO_POLICY = "The policy was not read, because there is no token: the defaults count."
NO_MODEL = "No model was asked: it has no key, for to such a run GitHub gives none of the repository's secrets."


@dataclass(frozen=True)
class Step:
    """One step: what was asked, what happened, and where things are."""

    inputs: ActionInputs
    event: ActionEvent
    settings: Settings
    workspace: Path
    folder: Path
    """Where everything is left."""
    own_token: bool
    """The token is the workflow's."""
    out: TextIO
    build: BuildLine
    github: ActionGitHub | None

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must never be seen."""
        return (*self.inputs.secrets, *(secret.get_secret_value() for secret in self.settings.secrets))

    @property
    def is_remote(self) -> bool:
        """Whether the failing commit is fetched, instead of taken from the workspace."""
        return self.event.place == "remote"

    @property
    def project(self) -> str:
        """What stands before the paths of a mission: of a commit that was fetched, nothing does."""
        return "" if self.is_remote else self.inputs.folder

    def request(self) -> MissionRequest:
        """What the step asks for, in the words of the event alone."""
        event, inputs = self.event, self.inputs
        key = event.repository.id if event.repository else "local"
        return MissionRequest(
            mission_id=f"action:{key}:{event.head_sha or 'workspace'}",
            trigger=Trigger.ACTION,
            repository=event.repository,
            head_sha=event.head_sha,
            head_branch=event.head_branch,
            pull_request=event.pull_request,
            tier=TrustTier.FORK if event.from_fork else TrustTier.BRANCH,
            actors=event.actors,
            command=inputs.test_command,
            time_limit_s=inputs.time_limit,
        )


def run_action(
    environment: Mapping[str, str],
    *,
    build: BuildLine = build_line,
    connect: Connect = connect,
    out: TextIO | None = None,
) -> int:
    """Run the step; its exit status.

    Args:
        environment: Inputs (`INPUT_MODE`) and what the runner says (`GITHUB_EVENT_NAME`).
        build: From settings to everything a mission needs.
        connect: From a token to GitHub.
        out: The step's log.
    """
    out = out or sys.stdout
    files, hidden = RunnerFiles.of(environment, out), _hidden(environment)
    for secret in hidden:
        write_mask(secret, out)
    try:
        inputs = ActionInputs.of(environment)
        with commands_stopped(out, "MetaAgent"), _own_faults_told(out, hidden):
            done = _run(inputs, environment, build=build, connect=connect, out=out)
        if isinstance(done, Ignored):
            files.ignored(done.reason)
        else:
            files.done(done, _folder(environment))
    except (MetaAgentError, SandboxError) as error:
        files.failed(_sentence(error), Pen(secrets=needles_of(hidden)))
        return ERROR
    return DONE


def _hidden(environment: Mapping[str, str]) -> tuple[str, ...]:
    """What must not be seen, also in the form a token has on its way to git."""
    token = environment.get("INPUT_GITHUB_TOKEN", "").strip()
    pair = base64.b64encode(f"x-access-token:{token}".encode()).decode("ascii") if token else ""
    keys = (environment.get(name, "").strip() for name in ("INPUT_API_KEY", *chain.from_iterable(KEYS.values())))
    return tuple(secret for secret in (token, pair, *keys) if secret)


@contextmanager
def _own_faults_told(out: TextIO, hidden: tuple[str, ...]) -> Iterator[None]:
    """Whatever breaks inside us is shown where nothing is a command, and ends the step like any other error."""
    try:
        yield
    except (MetaAgentError, SandboxError):
        raise
    except Exception as error:
        out.write(harmless(Pen(secrets=needles_of(hidden)).block(traceback.format_exc())))
        message = f"something broke inside MetaAgent ({type(error).__name__}); this is our fault, not yours"
        raise MetaAgentError(message, "report it with the lines in the log") from error


def _sentence(error: MetaAgentError | SandboxError) -> str:
    return ". ".join(part.rstrip(".") for part in (error.message, error.advice) if part)


def _run(
    inputs: ActionInputs, environment: Mapping[str, str], *, build: BuildLine, connect: Connect, out: TextIO
) -> Done | Ignored:
    runner = RunnerFacts.of(environment)
    event = read_event(_payload(environment), runner, branch_prefix=inputs.branch_prefix)
    if isinstance(event, Ignored):
        return event
    settings = _settings(inputs, environment, trusted=not event.from_fork)
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
        github=connect(token, settings.github_api_url) if token.get_secret_value() and event.repository else None,
    )
    return asyncio.run(_worked(step))


def _payload(environment: Mapping[str, str]) -> Mapping[str, Any]:
    path = environment.get("GITHUB_EVENT_PATH")
    try:
        with Path(path or os.devnull).open("rb") as file:
            content = json.loads(file.read(_EVENT_BYTES) or b"{}")
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"the event's file cannot be read ({type(error).__name__})", "run it in a workflow") from error
    return content if isinstance(content, dict) else {}


def _folder(environment: Mapping[str, str]) -> Path:
    """`metaagent` in the folder that the runner empties after the job."""
    return Path(environment.get("RUNNER_TEMP") or ".") / "metaagent"


def _settings(inputs: ActionInputs, environment: Mapping[str, str], *, trusted: bool) -> Settings:
    """Settings of this step. Where the token is sent, and what is kept where, no file in the checkout decides."""
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
    file = Path(os.devnull)  # never the one of the current folder
    if inputs.config is not None and trusted:
        file = Path(environment.get("GITHUB_WORKSPACE") or ".") / inputs.config
    return load(options, environment=environment, file=file)


def _without_keyless_models(settings: Settings) -> Settings:
    """Where GitHub gives a run no secrets, a model without its key is nobody's mistake."""
    return settings if settings.keys else settings.model_copy(update=dict.fromkeys(MODELS))


# --- the work ---------------------------------------------------------------------------------------


async def _worked(step: Step) -> Done:
    step.folder.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        if step.github is not None:
            stack.push_async_callback(step.github.aclose)
            step = await _with_pull_request(step)
        if step.inputs.from_report is not None:
            context, kept = read_mission(step.workspace / step.inputs.from_report), KeptEvidence()
        else:
            context, kept = await _mission(step)
        return await _handed_over(step, context, kept)


async def _mission(step: Step) -> tuple[MissionContext, KeptEvidence]:
    admission = await _admission(step)
    evidence = EvidenceFile(step.folder / EVIDENCE, step.settings.evidence)
    async with open_line(step.settings, step.build, TerminalProgress(step.out)) as opened:
        line = replace(opened, keep_evidence=evidence.keep, secrets=(*opened.secrets, *step.secrets))
        github = step.github if step.is_remote else None
        context = await handle_admitted(admission, line, MemoryCheckpoint(), github)
    return context, evidence.kept


async def _admission(step: Step) -> Admission:
    """What to work on: the workspace as it stands, or the failing commit as GitHub has it."""
    request, inputs = step.request(), step.inputs
    if not step.is_remote:
        folder = str((step.workspace / inputs.working_directory).resolve())
        policy = await workspace_policy(step.event, step.github)
        found, checkout = await folder_checkout(folder, inputs.test_command, policy=policy)
        local = request.with_(repository=None, folder=folder, tier=TrustTier.LOCAL)
        if step.event.from_fork:
            # A runner of one's own keeps environments: one that a fork's code could set up serves nobody else.
            fork = step.event.head_repository_id
            checkout = checkout.with_(tier=TrustTier.FORK, head_repository_id=None if fork is None else str(fork))
        return _narrowed(Admission(request=local, policy=found, checkout=checkout), inputs)
    if step.github is None or request.repository is None:
        raise UsageError("the failing commit cannot be fetched without a token", "give the input github-token")
    known = request.with_(check=await _red_check(step.github, request.repository, request.head_sha or ""))
    return _narrowed(await admit(known, step.github, secrets=step.secrets), inputs)


def _narrowed(admission: Admission, inputs: ActionInputs) -> Admission:
    policy = inputs.policy(admission.policy)
    return admission.with_(policy=policy, request=admission.request.with_(rungs=policy.rungs))


async def _with_pull_request(step: Step) -> Step:
    """GitHub does not name the pull request when a run was about a fork's."""
    event, github = step.event, step.github
    if github is None or event.repository is None or not event.from_fork or event.pull_request is not None:
        return step
    pulls = await github.open_pull_requests(event.repository)
    number = next((pull.number for pull in pulls if pull.head_sha == event.head_sha), None)
    return replace(step, event=event.with_(pull_request=number))


async def _red_check(github: ActionGitHub, repository: RepositoryRef, sha: str) -> CheckRef | None:
    """The first red job of the commit; None leaves it to the tests to say what is red."""
    try:
        found = await github.check_runs(repository, sha)
    except NotPermitted:
        return None  # without `checks: read` the tests themselves say it
    runs = [run for run in found if run.conclusion in RED and run.app_slug not in NOT_TESTS]
    if not runs:
        return None
    run = min(runs, key=lambda one: (one.app_slug != "github-actions", one.id))
    return CheckRef(id=run.id, name=run.name, app_slug=run.app_slug, conclusion=run.conclusion or "failure")


# --- what becomes of it -----------------------------------------------------------------------------


async def _handed_over(step: Step, context: MissionContext, kept: KeptEvidence) -> Done:
    """Leave the report, and write on GitHub what may be written."""
    confidence = confidence_by_rules(context)
    story = a_story(context, confidence=confidence, secrets=step.secrets, bundle=kept)
    done = Done(story, Publication(mission_id=context.mission_id, outcome=story.outcome), step.project)
    if step.inputs.model is not None and step.settings.model is None:
        done = done.noting(NO_MODEL)
    if step.github is None and step.event.repository is not None:
        done = done.noting(NO_POLICY)
    if step.inputs.delivery != step.inputs.mode:
        done = done.noting(NO_PUSH)
    why_not = await why_nothing_is_written(step.inputs, step.event, step.github)
    if why_not is None and step.github is not None:
        done = await _published(step, step.github, done)
    elif why_not:
        done = done.noting(why_not)
    write_report(step.folder, context, done.summary)
    return done


async def _published(step: Step, github: ActionGitHub, done: Done) -> Done:
    """Write the outcome on GitHub; whatever refuses that leaves report and patch as they are."""
    try:
        context = await _on_the_commit(step, github, done.story.context)
        if not context.policy.enabled:
            return done.noting("Nothing was written: the policy of the default branch switches us off.")
        story = done.story.with_(context=context)
        places = Places(
            github=github,
            app_slug=await github.app_slug(),
            upkeep=github,
            branch_prefix=step.inputs.branch_prefix,
            base_branch=step.inputs.base_branch,
        )
        if step.inputs.dry_run or context.policy.mode == "staged":
            return await _rehearsed(done, story, places)
        publication = await publish_outcome(story, places)
    except (GitHubError, SandboxError) as error:
        return done.noting(f"Nothing was written on GitHub: {_sentence(error)}.")
    pushed = publication.commit is not None and publication.outcome is Outcome.FIXED
    warning = NO_CHECKS if pushed and step.own_token else ""
    told = story.with_(outcome=publication.outcome or story.outcome)
    done = replace(done, story=told, publication=publication, warning=warning)
    return done.noting(publication.skipped or "", warning)


async def _rehearsed(done: Done, story: Story, places: Places) -> Done:
    """Everything but the writes; they are told instead."""
    notebook = Notebook()
    upkeep = StagedUpkeep(places.upkeep, notebook) if places.upkeep is not None else None
    told = await publish_outcome(story, replace(places, github=StagedGitHub(places.github, notebook), upkeep=upkeep))
    writes = (f"Would be written: {one.what}" for one in notebook.writes)
    return done.noting("Dry run: nothing was written on GitHub.", *writes, told.skipped or "")


async def _on_the_commit(step: Step, github: ActionGitHub, context: MissionContext) -> MissionContext:
    """The mission as one of the repository: what it is about comes from the event, what it may do from its policy."""
    request = step.request()
    repository, sha = request.repository, request.head_sha
    if repository is None or sha is None:
        raise UsageError("the commit is not known")
    policy: RepositoryPolicy = step.inputs.policy(await load_policy(repository, github))
    moved = context.with_(request=request, mission_id=request.mission_id, policy=policy)
    if step.is_remote and step.inputs.from_report is None:
        return moved

    async def read(path: str) -> bytes | None:
        return await github.read_file(repository, path, sha)

    # The folder comes from the workflow, whichever job made the patch.
    return await carry_over(moved, read, folder=step.project)
