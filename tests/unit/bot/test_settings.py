"""Settings come from four places, and a wrong one is named with the place it came from."""

import json
from pathlib import Path

import pytest

from bot.domain.model import ANY_HOST
from bot.errors import SettingsError
from bot.settings import leaves, load


def test_an_option_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "metaagent.toml"
    file.write_text(
        'port = 1001\nhost = "file"\napp_slug = "file"\n[sandbox]\nmemory_bytes = 4_000_000_000\n'
    )
    environment = {"METAAGENT_HOST": "environment", "METAAGENT_APP_SLUG": "environment"}
    settings = load({"app_slug": "option"}, environment=environment, file=file)
    assert (settings.port, settings.host, settings.app_slug) == (1001, "environment", "option")
    assert settings.sandbox.memory_bytes == 4_000_000_000


def test_a_nested_setting_has_one_name_everywhere() -> None:
    leaf = next(leaf for leaf in leaves() if leaf.key == "sandbox.memory_bytes")
    assert leaf.option == "--sandbox-memory-bytes"
    assert leaf.variable == "METAAGENT_SANDBOX__MEMORY_BYTES"
    assert load({}, environment={leaf.variable: "4000000000"}).sandbox.memory_bytes == 4_000_000_000


def test_a_wrong_value_names_its_key_and_its_origin() -> None:
    with pytest.raises(SettingsError, match=r"sandbox\.backend \(METAAGENT_SANDBOX__BACKEND\)"):
        load({}, environment={"METAAGENT_SANDBOX__BACKEND": "cloud"})
    with pytest.raises(SettingsError, match=r"port \(--port\)"):
        load({"port": "many"}, environment={})


def test_a_value_where_a_table_belongs_is_named(tmp_path: Path) -> None:
    file = tmp_path / "metaagent.toml"
    file.write_text("sandbox = 3\n")
    with pytest.raises(SettingsError, match="sandbox"):
        load({}, environment={"METAAGENT_SANDBOX__BACKEND": "local"}, file=file)


def test_an_unknown_key_in_the_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "metaagent.toml"
    file.write_text("prot = 80\n")
    with pytest.raises(
        SettingsError, match="there is no setting prot; `metaagent settings` lists them"
    ):
        load({}, environment={}, file=file)


@pytest.mark.parametrize("content", [b"port = ", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_an_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "metaagent.toml"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match="not TOML"):
        load({}, environment={}, file=file)


def test_a_missing_file_is_an_error_only_when_it_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load({}, environment={}, file=tmp_path / "absent.toml")
    assert load({}, environment={}).port == 8080


def test_the_hosts_certificates_count_for_the_set_up_phase() -> None:
    assert load({}, environment={"SSL_CERT_FILE": "/etc/ca.pem"}).sandbox.ca_bundle == "/etc/ca.pem"
    own = {"SSL_CERT_FILE": "/etc/ca.pem", "METAAGENT_SANDBOX__CA_BUNDLE": "/own.pem"}
    assert load({}, environment=own).sandbox.ca_bundle == "/own.pem"


def test_an_index_with_a_password_is_not_taken_over() -> None:
    assert (
        load(
            {}, environment={"PIP_INDEX_URL": "https://me:secret@index.test/simple"}
        ).sandbox.index_url
        is None
    )


def test_the_private_key_may_stand_in_the_environment_or_in_a_file(tmp_path: Path) -> None:
    inline = load({}, environment={"METAAGENT_PRIVATE_KEY": "-----BEGIN\\nX"})
    assert inline.signing_key.get_secret_value() == "-----BEGIN\nX"
    (tmp_path / "key.pem").write_text("KEY")
    filed = load({}, environment={"METAAGENT_PRIVATE_KEY_FILE": str(tmp_path / "key.pem")})
    assert filed.signing_key.get_secret_value() == "KEY"
    absent = load({}, environment={"METAAGENT_PRIVATE_KEY_FILE": str(tmp_path / "no.pem")})
    with pytest.raises(SettingsError, match="cannot be read"):
        _ = absent.signing_key


def test_a_private_key_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_bytes(b"\xff\xfe")
    filed = load({}, environment={"METAAGENT_PRIVATE_KEY_FILE": str(tmp_path / "key.pem")})
    with pytest.raises(SettingsError, match="not text"):
        _ = filed.signing_key


def test_the_key_in_a_file_is_a_secret_like_the_one_in_the_environment(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("KEY IN A FILE")
    variables = {
        "METAAGENT_PRIVATE_KEY_FILE": str(tmp_path / "key.pem"),
        "METAAGENT_WEBHOOK_SECRET": "hunter2",
    }
    assert [s.get_secret_value() for s in load({}, environment=variables).secrets] == [
        "KEY IN A FILE",
        "hunter2",
    ]
    assert (
        load({}, environment={"METAAGENT_PRIVATE_KEY_FILE": str(tmp_path / "no.pem")}).secrets == ()
    )


def test_secrets_do_not_show() -> None:
    settings = load(
        {}, environment={"METAAGENT_WEBHOOK_SECRET": "hunter2", "METAAGENT_PRIVATE_KEY": "hunter3"}
    )
    assert "hunter" not in repr(settings)
    assert "hunter" not in settings.model_dump_json()


def stored(folder: Path, **more: str) -> dict[str, str]:
    """A data directory with an App in it, as an environment."""
    app = {
        "app_id": "7",
        "app_slug": "fixer",
        "private_key": "KEY",
        "webhook_secret": "hush",
        "html_url": "x",
        **more,
    }
    (folder / "app.json").write_text(json.dumps(app))
    (folder / "app.json").chmod(0o600)
    return {"METAAGENT_DATA_DIR": str(folder)}


def test_the_app_that_set_up_stored_is_used_as_a_whole(tmp_path: Path) -> None:
    settings = load({"app_slug": "mine"}, environment=stored(tmp_path))
    assert (settings.app_id, settings.app_slug, settings.signing_key.get_secret_value()) == (
        "7",
        "mine",
        "KEY",
    )
    assert not settings.needs_setup


@pytest.mark.parametrize("given", ["app_id", "private_key", "webhook_secret"])
def test_parts_of_two_apps_are_never_mixed(tmp_path: Path, given: str) -> None:
    settings = load({given: "9"}, environment=stored(tmp_path))
    assert not settings.needs_setup
    assert {settings.app_id, settings.private_key, settings.webhook_secret} - {None} == {
        getattr(settings, given)
    }


def test_a_stored_app_that_others_can_read_is_refused(tmp_path: Path) -> None:
    environment = stored(tmp_path)
    (tmp_path / "app.json").chmod(0o640)
    with pytest.raises(SettingsError, match="readable by other users"):
        load({}, environment=environment)


def test_a_stored_app_that_is_damaged_is_told(tmp_path: Path) -> None:
    environment = stored(tmp_path)
    (tmp_path / "app.json").write_text("{")
    with pytest.raises(SettingsError, match="cannot be read"):
        load({}, environment=environment)


def test_without_any_part_of_an_app_set_up_is_needed(tmp_path: Path) -> None:
    assert load({}, environment={"METAAGENT_DATA_DIR": str(tmp_path)}).needs_setup


@pytest.mark.parametrize("url", ["bot.example.com", "https://a/b", "https://user@a", "ftp://a"])
def test_the_public_address_is_one_of_a_server(url: str) -> None:
    with pytest.raises(SettingsError, match="public_url"):
        load({"public_url": url}, environment={})


def test_a_key_of_the_providers_own_name_counts_where_we_were_given_none() -> None:
    usual = {"OPENAI_API_KEY": "sk-usual", "ANTHROPIC_API_KEY": ""}
    keys = load({}, environment=usual).keys
    assert {name: key.get_secret_value() for name, key in keys.items()} == {
        "openai-chat": "sk-usual",
        "openai-responses": "sk-usual",
        "codex-cli": "sk-usual",
    }
    own = load({}, environment=usual | {"METAAGENT_OPENAI_API_KEY": "sk-own"}).keys
    assert own["openai-chat"].get_secret_value() == "sk-own"


def test_the_one_key_that_was_given_wins_over_what_the_host_happens_to_hold() -> None:
    keys = load({"model_key": "given"}, environment={"OPENAI_API_KEY": "sk-usual"}).keys
    assert {name: key.get_secret_value() for name, key in keys.items()} == {ANY_HOST: "given"}


def test_a_host_may_have_a_key_of_its_own() -> None:
    keys = load({"model_keys": "OpenRouter.ai=or-1=2, other.example=o"}, environment={}).keys
    assert {name: key.get_secret_value() for name, key in keys.items()} == {
        "openrouter.ai": "or-1=2",
        "other.example": "o",
    }
    with pytest.raises(SettingsError, match="model_keys"):
        _ = load({"model_keys": "secret-without-a-host"}, environment={}).keys


def test_the_keys_of_models_are_secrets() -> None:
    settings = load({"model_keys": "a.example=by-host"}, environment={"OPENAI_API_KEY": "sk-usual"})
    assert {secret.get_secret_value() for secret in settings.secrets} == {"sk-usual", "by-host"}
    assert "sk-usual" not in repr(settings)
    assert "by-host" not in repr(settings)


NOT_A_STRANGERS = (
    *(
        "github_api_url = 'https://evil.example/'",
        "data_dir = '/tmp'",
        "private_key_file = '/etc/shadow'",
    ),
    *(
        "model = 'openai-chat:gpt@https://evil.example'",
        "model_fix = 'codex-cli:m'",
        "model_agent = 'codex-cli:m'",
    ),
    *(
        "models.plain_http = true",
        "models.agent_command = 'curl evil.example'",
        "models.usd_per_day = 1000",
    ),
    *("sandbox.backend = 'local'", "sandbox.disposable_host = true", "sandbox.image = 'evil'"),
    *(
        "sandbox.setup_network = 'bridge'",
        "sandbox.ca_bundle = '/work/ca.pem'",
        "sandbox.index_url = 'https://evil'",
    ),
    *("storage.url = 's3://evil'", "[storage]\nendpoint = 'https://evil.example'"),
    *("sandbox.memory_bytes = 4_000_000_000", "[sandbox]\negress_hosts = ['evil.example']"),
)


@pytest.mark.parametrize("line", NOT_A_STRANGERS)
def test_a_file_that_merely_lies_here_weakens_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "metaagent.toml"
    file.write_text(line)
    with pytest.raises(SettingsError, match="found in the current folder") as raised:
        load({}, environment={})
    assert "--config metaagent.toml" in raised.value.advice
    load({}, environment={}, file=file)


def test_only_what_is_marked_may_be_said_by_a_file_that_merely_lies_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {leaf.key.partition(".")[0] for leaf in leaves() if leaf.any_file} == {
        *("log_level", "port", "workers", "limits")
    }
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metaagent.toml").write_text("workers = 3\n[limits]\ntime_limit = 5\n")
    settings = load({}, environment={})
    assert (settings.workers, settings.limits.time_limit) == (3, 5.0)


def test_who_says_it_otherwise_is_not_kept_by_such_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metaagent.toml").write_text("model = 'mock'\nsandbox.backend = 'local'\n")
    given = {"METAAGENT_SANDBOX__BACKEND": "docker"}
    settings = load({"model": "anthropic:m"}, environment=given)
    assert (settings.model, settings.sandbox.backend) == ("anthropic:m", "docker")


def test_the_password_of_a_database_is_a_secret() -> None:
    settings = load(
        {}, environment={"METAAGENT_DATABASE_URL": "postgresql://bot:hunter2@db/metaagent"}
    )
    assert [secret.get_secret_value() for secret in settings.secrets] == ["hunter2"]


@pytest.mark.parametrize(
    "url", ["postgresql://bot:hunter%402@db/bot", "postgresql://bot@db/bot?password=hunter%402"]
)
def test_the_password_of_a_database_is_one_however_it_is_written(url: str) -> None:
    settings = load({}, environment={"METAAGENT_DATABASE_URL": url})
    assert [secret.get_secret_value() for secret in settings.secrets] == ["hunter@2", "hunter%402"]
    of_key = load(
        {},
        environment={"METAAGENT_DATABASE_URL": "postgresql://bot@db/x?sslpassword=of%20the%20key"},
    )
    assert [secret.get_secret_value() for secret in of_key.secrets] == [
        "of the key",
        "of%20the%20key",
    ]


AWS = {
    "AWS_ACCESS_KEY_ID": "AKID-usual",
    "AWS_SECRET_ACCESS_KEY": "secret-usual",
    "AWS_SESSION_TOKEN": "token-usual",
    "AWS_ENDPOINT_URL": "http://s3.test:9000",
    "AWS_REGION": "eu-central-1",
}
BUCKET = {"METAAGENT_STORAGE__URL": "s3://blobs/of-ours"}


def test_the_keys_of_a_store_are_those_that_every_tool_reads_and_are_secrets() -> None:
    settings = load({}, environment=AWS | BUCKET)
    assert {secret.get_secret_value() for secret in settings.secrets} == {
        "AKID-usual",
        "secret-usual",
        "token-usual",
    }
    assert (settings.storage.endpoint, settings.storage.region) == (
        "http://s3.test:9000",
        "eu-central-1",
    )
    assert "usual" not in repr(settings) + settings.model_dump_json()


def test_keys_of_two_owners_are_never_mixed() -> None:
    storage = load(
        {"storage.key_id": "AKID-own", "storage.key": "secret-own"}, environment=AWS | BUCKET
    ).storage
    assert storage.key is not None
    assert (storage.key.get_secret_value(), storage.token) == ("secret-own", None)


def test_what_lies_about_for_other_tools_counts_only_where_a_bucket_is_named() -> None:
    strange = AWS | {"AWS_ENDPOINT_URL": "not an address"}
    assert load({}, environment=strange).storage == load({}, environment={}).storage
    with pytest.raises(SettingsError, match=r"storage\.endpoint \(AWS_ENDPOINT_URL\)"):
        load({}, environment=strange | BUCKET)


@pytest.mark.parametrize(
    "url",
    [
        "s3://",
        "s3://Blobs",
        "gs://blobs",
        "blobs",
        "file://relative",
        "s3://k:s@blobs",
        "s3://b/a b",
    ],
)
def test_the_address_of_a_store_is_a_bucket_or_a_folder(url: str) -> None:
    with pytest.raises(SettingsError, match=r"storage\.url"):
        load({"storage.url": url}, environment={})


@pytest.mark.parametrize(
    ("written", "variables", "options"),
    [
        ("[limits]\nsearch_s = 5\n", {}, {}),
        ("", {"METAAGENT_LIMITS__SEARCH_S": "5"}, {}),
        ("[limits]\nsearch_s = 4\n", {"METAAGENT_LIMITS__TIME_LIMIT": "5"}, {}),
        ("", {}, {"limits.search_s": "5"}),
    ],
)
def test_a_former_name_is_read_and_named_as_deprecated_once(
    written: str,
    variables: dict[str, str],
    options: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metaagent.toml").write_text(written)
    assert load(options, environment=variables).limits.time_limit == 5.0
    (line,) = caplog.messages
    assert "is deprecated" in line
    assert "search_s" in line.lower()
    assert "time_limit" in line.lower()
