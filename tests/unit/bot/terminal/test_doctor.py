"""The doctor looks at everything a mission needs and says what to do about what is missing."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.settings import Settings, load
from bot.setup.finding import SetupFinding, render
from bot.store.opening import open_database
from bot.store.schema.current import revision_of
from bot.terminal.doctor import examine, set_up
from tests.github_server.fixtures import app_key, local_github
from tests.github_server.server import LocalGitHub

__all__ = ["app_key", "local_github"]

Make = Callable[..., Settings]


def found(settings: Settings) -> dict[str, SetupFinding]:
    return {finding.subject: finding for finding in examine(settings)}


def test_a_bare_machine_is_told_secret_and_app(settings: Make) -> None:
    findings = found(settings())
    assert {subject for subject, one in findings.items() if one.state == "missing"} >= {
        "webhook secret",
        "GitHub App",
    }
    assert all(one.advice for one in findings.values() if one.state == "missing")
    assert "permissions" not in findings, "without an App nobody is asked"


def test_a_terminal_and_the_action_need_no_app(settings: Make) -> None:
    for face in ("terminal", "action"):
        findings = examine(settings(), face=face)
        assert [one.subject for one in findings if one.state == "missing"] == []
    service = examine(settings(), face="service")
    assert {one.subject for one in service if one.state == "missing"} == {
        "webhook secret",
        "GitHub App",
    }
    assert render(service).count("(for the service only)") == 2


def test_the_sandbox_that_is_set_is_looked_at(settings: Make) -> None:
    finding = found(settings())["sandbox local"]
    assert finding.state == "ok"
    assert "environments" in finding.message


def test_the_git_that_takes_repositories_in_is_looked_at(
    settings: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(settings())["git"].state == "ok"
    monkeypatch.setenv("PATH", str(tmp_path))
    git = found(settings())["git"]
    assert (git.state, git.advice) == ("missing", "Install git 2.39 or newer.")


def test_the_folder_of_the_data_may_not_be_there_yet(settings: Make, tmp_path: Path) -> None:
    disk = found(settings(data_dir=str(tmp_path / "not" / "yet")))["disk"]
    assert "GiB free" in disk.message
    assert not (tmp_path / "not").exists(), "the doctor changes nothing"


@pytest.mark.parametrize(
    ("key", "message"),
    [(None, "no private key"), ("nonsense", "not PEM")],
)
def test_a_key_that_cannot_sign_is_named(settings: Make, key: str | None, message: str) -> None:
    given = {"app_id": "1"} | ({"private_key": key} if key else {})
    app = found(settings(**given))["GitHub App"]
    assert app.state == "missing"
    assert message in app.message


@pytest.mark.slow
def test_a_github_that_cannot_be_reached_is_told(settings: Make) -> None:
    from tests.github_server.server import new_private_key

    nobody = {
        "github_api_url": "http://127.0.0.1:9/",
        "app_id": "1",
        "private_key": new_private_key(),
    }
    permissions = found(settings(**nobody))["permissions"]
    assert permissions.state == "missing"
    assert permissions.message


@pytest.mark.shared
@pytest.mark.parametrize(("slug", "state"), [(None, "ok"), ("somebody-else", "missing")])
def test_the_slug_must_be_the_one_github_knows(
    settings: Make, local_github: LocalGitHub, slug: str | None, state: str
) -> None:
    given = {
        "github_api_url": local_github.api_url,
        "app_id": str(local_github.app_id),
        "private_key": local_github.private_key_pem,
        "app_slug": slug or local_github.world.app.slug,
    }
    permissions = found(settings(**given))["permissions"]
    assert permissions.state == state
    assert (
        slug is None
        or f"set METAAGENT_APP_SLUG to {local_github.world.app.slug}" in permissions.advice
    )


def test_secrets_are_never_shown(settings: Make) -> None:
    findings = examine(
        settings(webhook_secret="hunter-two-secret", app_id="1", private_key="hunter-key")
    )
    assert "hunter" not in render(findings)


def test_a_set_up_that_reaches_everything_is_noted() -> None:
    docker = {"sandbox.backend": "docker", "sandbox.setup_network": "bridge"}
    (finding,) = set_up(load(docker, environment={}))
    assert (finding.state, finding.subject) == ("note", "set-up network")
    assert set_up(load(docker | {"sandbox.setup_network": "none"}, environment={})) == []
    assert set_up(load(docker | {"sandbox.backend": "local"}, environment={})) == []


def test_without_a_model_that_is_a_note(settings: Make) -> None:
    assert "work without one" in found(settings())["model"].message


def test_every_role_is_told_its_model_and_whether_its_price_is_known(settings: Make) -> None:
    given = {
        "model": "openai-chat:gpt-4o-mini",
        "model_fix": "openai-chat:mine@http://127.0.0.1:1",
        "model_key": "sk-k",
    }
    findings = found(settings(model_agent="codex-cli:gpt-5.2", **given))
    assert "codex-cli:gpt-5.2, at most" in findings["model to work alone"].message
    assert (findings["model to judge"].state, findings["model to fix"].state) == ("ok", "note")
    assert "$5.00 a mission" in findings["model to judge"].message
    assert "no price is known for openai-chat:mine" in findings["model to fix"].message


def test_what_models_cost_today_is_told_once_one_was_asked(settings: Make) -> None:
    given = settings()
    assert "model costs" not in found(given)
    database = open_database(given.engine_url)
    database.open()
    assert found(given)["model costs"].message.endswith("nothing: no model was called")
    database.run(lambda tx: tx.change("UPDATE alembic_version SET version_num = '0001'"))
    assert (found(given)["database"].state, found(given)["database"].message[:22]) == (
        "note",
        "its tables are at 0001",
    )
    assert database.run(lambda tx: revision_of(tx.connection)) == "0001", (
        "the doctor upgrades nothing"
    )
    database.run(lambda tx: tx.change("UPDATE alembic_version SET version_num = '9999'"))
    assert "the tables are at revision 9999" in found(given)["model costs"].message
    database.close()
    for file in given.data_dir.iterdir():
        file.unlink()
    (given.data_dir / "metaagent.sqlite").write_text(
        "no database at all, but longer than a header would be " * 9
    )
    assert found(given)["model costs"].state == "missing"


@pytest.mark.parametrize(
    "given",
    [
        {"model": "any:model"},
        {"model": "openai-chat:gpt"},
        {"model": "mock", "models__prices": "odd"},
    ],
)
def test_a_model_that_cannot_be_asked_is_missing(settings: Make, given: dict[str, str]) -> None:
    finding = found(settings(**given))["model"]
    assert finding.state == "missing"
    assert finding.advice


def test_findings_are_lines_and_advice_stands_beneath_what_is_missing() -> None:
    findings = (
        SetupFinding(subject="disk", state="ok", message="9.0 GiB free", advice="not shown"),
        SetupFinding(subject="webhook secret", state="missing", message="not set", advice="set it"),
        SetupFinding(subject="model", state="note", message="none is set"),
    )
    assert render(findings).splitlines() == [
        "ok       disk             9.0 GiB free",
        "MISSING  webhook secret   not set",
        "                           set it",
        "note     model            none is set",
    ]


def test_without_an_app_the_live_look_says_what_to_do_first(settings: Make) -> None:
    live = {finding.subject: finding for finding in examine(settings(), live=True)}["live"]
    assert live.state == "missing"
    assert "metaagent setup" in live.advice


def test_what_others_wrote_cannot_steer_the_terminal() -> None:
    hostile = SetupFinding(subject="octo/shop", state="note", message="\x1b[2Jgone\x07")
    assert "\x1b" not in render([hostile])
