"""From settings to what a mission needs."""

import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.domain.model import Judging, Role
from bot.domain.patch import Rung
from bot.domain.policy import RepositoryPolicy
from bot.domain.request import MissionRequest
from bot.errors import SettingsError
from bot.lessons.stored import StoredLessons
from bot.ports import Fixer, Progress
from bot.publish.progress import SilentProgress
from bot.settings import Settings
from bot.wiring.mission_services import (
    build_backend,
    build_fixers,
    build_mission_services,
    prepare_image,
)
from bot.wiring.models import build_chats, derive_limits, derive_model_limits, select_models
from tests.builders import a_request
from tests.databases import a_database

Make = Callable[..., Settings]
ROOT = Path(__file__).resolve().parents[4]


@asynccontextmanager
async def silence(_: MissionRequest) -> AsyncIterator[Progress]:
    yield SilentProgress()


def rungs_of(fixers: Sequence[Fixer]) -> list[Rung]:
    return list(dict.fromkeys(fixer.rung for fixer in fixers))


def rungs(settings: Settings) -> list[Rung]:
    return rungs_of(build_fixers(settings, StoredLessons(a_database(settings.data_dir))))


def test_every_rung_is_there_in_a_container(settings: Make) -> None:
    assert rungs(settings(sandbox__backend="docker")) == [Rung.TOOLS, Rung.SEARCH]


def test_mutated_code_runs_on_the_host_only_when_it_is_declared_disposable(settings: Make) -> None:
    assert rungs(settings()) == [Rung.TOOLS]
    assert rungs(settings(sandbox__disposable_host="true")) == [Rung.TOOLS, Rung.SEARCH]


def test_the_line_carries_the_settings(settings: Make) -> None:
    given = settings(webhook_secret="hunter-two", limits__iterations="2", app_slug="mender")
    services = build_mission_services(given, silence)
    assert (services.limits.iterations, services.app_slug, services.secrets) == (
        2,
        "mender",
        ("hunter-two",),
    )
    assert services.open_progress is silence


@pytest.mark.parametrize(
    ("named", "seconds"),
    [
        ({"model": "mock"}, 300.0),
        ({"model": "mock", "model_judge": "codex-cli:m"}, 300.0),
        ({"model": "anthropic:m@http://127.0.0.1:1"}, 400.0),
        ({"model_fix": "mock, openai-chat:m", "models__timeout_s": "900"}, 1200.0),
        ({"model": "codex-cli:m"}, 800.0),
        ({"model_fix": "mock,claude-cli:m"}, 800.0),
        ({"model_agent": "codex-cli:m"}, 800.0),
        ({"model": "codex-cli:m", "limits__model_s": "900"}, 900.0),
        ({"model": "codex-cli:m", "models__cli_timeout_s": "60"}, 300.0),
    ],
)
def test_a_climb_has_time_for_a_whole_answer_of_whoever_mends(
    settings: Make, named: dict[str, str], seconds: float
) -> None:
    assert derive_limits(settings(**named)).model_s == seconds


LOCAL = "openai-chat:small@http://127.0.0.1:11434/v1"
REMOTE = "anthropic:big"


@pytest.mark.parametrize(
    ("named", "judging", "edits"),
    [
        ({"model": LOCAL}, Judging.NEVER, "function"),
        ({"model": "anthropic:small@http://[::1]:8080"}, Judging.NEVER, "function"),
        ({"model": "openai-chat:small@http://192.168.1.9/v1"}, Judging.NEVER, "function"),
        ({"model": "openai-chat:small@http://localhost:8080/v1"}, Judging.NEVER, "function"),
        ({"model": REMOTE}, Judging.WHEN_UNSURE, "auto"),
        ({"model": "openai-chat:big@https://models.example/v1"}, Judging.WHEN_UNSURE, "auto"),
        ({"model": "openai-chat:big@https://93.184.216.34/v1"}, Judging.WHEN_UNSURE, "auto"),
        ({"model": f"{LOCAL},{REMOTE}"}, Judging.WHEN_UNSURE, "auto"),
        ({"model": "mock"}, Judging.WHEN_UNSURE, "auto"),
        ({"model_fix": LOCAL, "model_judge": REMOTE}, Judging.WHEN_UNSURE, "function"),
        ({"model_fix": REMOTE, "model_judge": LOCAL}, Judging.WHEN_UNSURE, "auto"),
        ({"model": LOCAL, "models__judging": "always"}, Judging.ALWAYS, "function"),
        ({"model": LOCAL, "models__edit_format": "search_replace"}, Judging.NEVER, "search_replace"),
        ({"model": REMOTE, "models__judging": "never"}, Judging.NEVER, "auto"),
    ],
)  # fmt: skip
def test_a_small_local_model_writes_functions_and_does_not_judge_unless_a_setting_says_so(
    settings: Make, named: dict[str, str], judging: Judging, edits: str
) -> None:
    given = settings(anthropic_api_key="k", sandbox__disposable_host="true", **named)
    limits = derive_model_limits(given)
    assert (limits.judging, limits.edit_format) == (judging, edits)
    services = build_mission_services(given, silence)
    assert services.minds is not None
    mind = services.minds.of(a_request(), RepositoryPolicy())
    assert mind is not None
    assert mind.judging is (judging if mind.has(Role.JUDGE) else Judging.NEVER)
    fixers = [vars(fixer) for fixer in services.fixers if fixer.rung is Rung.MODEL]
    assert [fixer["_limits"].edit_format for fixer in fixers] == [edits]


def test_building_writes_nothing(settings: Make) -> None:
    given = settings()
    build_mission_services(given, silence)
    assert not given.data_dir.exists()


@pytest.mark.parametrize("name", ["local", "docker"])
def test_the_backend_is_the_one_that_was_named(settings: Make, name: str) -> None:
    assert build_backend(settings(sandbox__backend=name)).name == name


def test_the_local_toolchain_is_this_host(settings: Make) -> None:
    image, kept = prepare_image(settings())
    assert (image, kept.removed) == ("local", 0)


# --- models -----------------------------------------------------------------------------------------

KEYS = {"model_key": "sk-test", "sandbox__backend": "docker"}


def test_without_a_model_nothing_of_it_is_loaded_and_with_one_nothing_heavy() -> None:
    code = (
        "import sys; from bot.wiring.mission_services import build_mission_services; from bot.settings import load;"
        "build = lambda **given: build_mission_services(load({'sandbox.backend': 'docker', **given}, environment={}), None);"
        "assert build().minds is None;"
        "ours = ('bot.llm.providers', 'bot.llm.mind', 'bot.llm.prices', 'bot.ledger', 'bot.fixers.rung2_model');"
        "print([name for name in sys.modules if name.startswith(ours)]);"
        "assert build(model='openai-chat:gpt,anthropic:m', model_key='k').minds is not None;"
        "print([name for name in ('genai_prices', 'bot.llm.providers.transport') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["[]", "[]"]), done.stderr


def test_a_role_has_its_own_model_or_the_one_for_all(settings: Make) -> None:
    given = settings(model="openai-chat:small", model_fix="anthropic:strong", **KEYS)
    assert select_models(given) == {Role.JUDGE: "openai-chat:small", Role.FIX: "anthropic:strong"}
    assert {role: chat.name for role, chat in build_chats(given).items()} == select_models(given)
    assert select_models(settings(model_judge="mock")) == {Role.JUDGE: "mock"}


def test_two_roles_with_one_model_share_it(settings: Make) -> None:
    chats = build_chats(settings(model="openai-chat:small", **KEYS))
    assert chats[Role.JUDGE] is chats[Role.FIX]


def test_a_model_for_fixing_is_a_rung(settings: Make) -> None:
    services = build_mission_services(settings(model="openai-chat:small", **KEYS), silence)
    assert rungs_of(services.fixers) == [Rung.TOOLS, Rung.SEARCH, Rung.MODEL]
    assert services.minds is not None
    judging = build_mission_services(settings(model_judge="openai-chat:small", **KEYS), silence)
    assert rungs_of(judging.fixers) == [Rung.TOOLS, Rung.SEARCH]


def test_a_models_code_runs_on_the_host_only_when_it_is_declared_disposable(settings: Make) -> None:
    on_host = build_mission_services(settings(model="mock"), silence)
    assert rungs_of(on_host.fixers) == [Rung.TOOLS]
    disposable = build_mission_services(
        settings(model="mock", sandbox__disposable_host="true"), silence
    )
    assert Rung.MODEL in {fixer.rung for fixer in disposable.fixers}


@pytest.mark.parametrize(
    "given",
    [{"model": "odd"}, {"model": "openai-chat:gpt"}, {"model": "mock", "models__prices": "odd"}],
)
def test_a_model_that_is_wrongly_configured_stops_us_at_once(
    settings: Make, given: dict[str, str]
) -> None:
    with pytest.raises(SettingsError):
        build_mission_services(settings(**given), silence)


@pytest.mark.anyio
async def test_building_and_closing_a_line_with_a_model_writes_nothing(settings: Make) -> None:
    given = settings(model="mock")
    await build_mission_services(given, silence).close()
    assert not given.data_dir.exists()


@pytest.mark.parametrize("model", ["openai-chat:m", "anthropic:m", "codex-cli:m"])
def test_models_trust_the_certificates_that_are_set(settings: Make, model: str) -> None:
    given = settings(
        model=model,
        model_key="sk-test",
        models__cli_reads_host=True,
        sandbox__ca_bundle="/own/ca.pem",
    )
    (chat, _) = build_chats(given).values()
    (only,) = vars(chat)["chats"]
    if model.startswith("codex"):
        assert vars(only)["_environment"]["SSL_CERT_FILE"] == "/own/ca.pem"
    else:
        assert vars(only)["_server"].ca_bundle == Path("/own/ca.pem")
