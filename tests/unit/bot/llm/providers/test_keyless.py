"""Models without a server: recorded, scripted, the mock."""

import os
from pathlib import Path

import pytest
import yaml

from bot.domain.model import Completion, Finish, ModelTrouble, Prompt, Usage
from bot.domain.model_error import ModelError
from bot.errors import SettingsError
from bot.llm.prompts.render import prompt_names
from bot.llm.protocol.messages import MESSAGES, Message
from bot.llm.providers import mock
from bot.llm.providers.replay import RecordingChat, ReplayChat, hash_prompt
from bot.llm.providers.scripted import Scripted

PROMPT = Prompt(system="You repair.", user="Fix it.", name="fix@3", temperature=0.0, seed=0)

pytestmark = pytest.mark.anyio


def script(folder: Path, text: str) -> Scripted:
    file = folder / "answers.yaml"
    file.write_text(text)
    return Scripted(file)


async def told(chat: Scripted | ReplayChat, prompt: Prompt = PROMPT) -> Completion:
    return await chat.complete(prompt, deadline_s=5)


async def trouble(
    chat: Scripted | ReplayChat, prompt: Prompt = PROMPT, *, deadline_s: float = 5
) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await chat.complete(prompt, deadline_s=deadline_s)
    return caught.value


class Echo:
    """A model that numbers its answers."""

    def __init__(self) -> None:
        self.asked = 0
        self.closed = False

    @property
    def name(self) -> str:
        return "echo"

    @property
    def can_hold_to_schema(self) -> bool:
        return True

    async def complete(self, prompt: Prompt, *, deadline_s: float) -> Completion:
        self.asked += 1
        if prompt.user == "fail":
            raise ModelError("no", trouble=ModelTrouble.OVERLOADED)
        return Completion(
            text=f"{self.asked}: {prompt.user}", usage=Usage(input_tokens=3), cost_usd=0.5
        )

    async def close(self) -> None:
        self.closed = True


async def test_what_was_recorded_is_given_again(tmp_path: Path) -> None:
    file = tmp_path / "cassette.json"
    recorder = RecordingChat(Echo(), file)
    first = await recorder.complete(PROMPT, deadline_s=5)
    second = await recorder.complete(PROMPT.with_(seed=1), deadline_s=5)
    await recorder.close()
    replay = ReplayChat(file)
    assert await told(replay) == first
    assert await told(replay, PROMPT.with_(seed=1)) == second
    assert replay.name == "replay:cassette.json"


async def test_a_cassette_grows_with_later_recordings(tmp_path: Path) -> None:
    file = tmp_path / "cassette.json"
    await RecordingChat(Echo(), file).complete(PROMPT, deadline_s=5)
    await RecordingChat(Echo(), file).complete(PROMPT.with_(user="more"), deadline_s=5)
    assert (await told(ReplayChat(file))).text == "1: Fix it."
    assert (await told(ReplayChat(file), PROMPT.with_(user="more"))).text == "1: more"
    assert os.listdir(tmp_path) == ["cassette.json"]  # noqa: PTH208 (asked from a coroutine)


async def test_a_failure_is_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "cassette.json"
    with pytest.raises(ModelError):
        await RecordingChat(Echo(), file).complete(PROMPT.with_(user="fail"), deadline_s=5)
    assert not file.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"name": "fix@4"},
        {"user": "Fix it!"},
        {"system": ""},
        {"max_tokens": 9},
        {"seed": 1},
        {"json_schema": {"a": 1}},
    ],
    ids=str,
)
async def test_whatever_changes_a_prompt_changes_its_key(
    tmp_path: Path, change: dict[str, object]
) -> None:
    file = tmp_path / "cassette.json"
    await RecordingChat(Echo(), file).complete(PROMPT, deadline_s=5)
    error = await trouble(ReplayChat(file), PROMPT.with_(**change))
    assert error.trouble is ModelTrouble.BAD_REQUEST
    assert PROMPT.user not in error.message


def test_asking_a_server_to_keep_a_prompt_changes_no_answer() -> None:
    assert hash_prompt(PROMPT) == hash_prompt(PROMPT.with_(cache=True))


@pytest.mark.parametrize("content", [None, "", "[]", '{"answers": {"k": {"prompt": "p"}}}'])
def test_what_is_no_cassette_is_a_setting_that_is_wrong(
    tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "cassette.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SettingsError):
        ReplayChat(file)


async def test_a_script_is_followed_line_by_line_and_its_last_line_repeated(tmp_path: Path) -> None:
    chat = script(tmp_path, "fix: [one, two]\n'*': |\n  anything\n  else\n")
    assert [(await told(chat)).text for _ in range(3)] == ["one", "two", "two"]
    assert (await told(chat, PROMPT.with_(name="plan_task@1"))).text == "anything\nelse\n"
    assert chat.name == "scripted:answers.yaml"


async def test_a_line_may_say_everything_an_answer_has(tmp_path: Path) -> None:
    chat = script(
        tmp_path, "fix: {text: cut, finish: length, usage: {output_tokens: 7}, cost_usd: 0.25}"
    )
    answer = await told(chat)
    assert (answer.finish, answer.usage.output_tokens, answer.cost_usd) == (Finish.LENGTH, 7, 0.25)


async def test_a_line_may_be_a_trouble_and_the_next_one_an_answer(tmp_path: Path) -> None:
    chat = script(tmp_path, "fix: [{trouble: rate_limit, retry_after_s: 3}, fine]")
    error = await trouble(chat)
    assert (error.trouble, error.retry_after_s) == (ModelTrouble.RATE_LIMIT, 3)
    assert (await told(chat)).text == "fine"


async def test_a_line_that_takes_longer_than_there_is_time_is_none(tmp_path: Path) -> None:
    chat = script(tmp_path, "fix: {text: late, after_s: 60}")
    assert (await trouble(chat, deadline_s=0.01)).trouble is ModelTrouble.DEADLINE


async def test_a_prompt_without_a_line_is_said_so(tmp_path: Path) -> None:
    assert (
        "reflect@1"
        in (await trouble(script(tmp_path, "fix: one"), PROMPT.with_(name="reflect@1"))).message
    )


@pytest.mark.parametrize(
    "content", [None, "- one", "fix: []", "fix: {say: one}", "{", "fix: !!python/name:os.system"]
)
def test_what_is_no_script_is_a_setting_that_is_wrong(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "answers.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SettingsError):
        Scripted(file)


async def mocked(chat: mock.Mock, name: str) -> dict[str, object]:
    answer = await chat.complete(PROMPT.with_(name=name), deadline_s=5)
    assert answer.cost_usd == 0
    found = yaml.safe_load(answer.text.removeprefix("```yaml\n").removesuffix("```\n"))
    assert isinstance(found, dict)
    return found


async def test_the_mock_plans_one_critical_criterion() -> None:
    payload = (await mocked(mock.build(), "plan_task@1"))["payload"]
    assert isinstance(payload, dict)
    assert payload["task_id"] == "TASK-MOCK"
    (criterion,) = payload["acceptance_criteria"]
    assert criterion == {"id": "AC-1", "description": "Mock AC 1", "type": "mock", "critical": True}


async def test_the_mock_runs_a_worker_once_and_is_done_from_then_on() -> None:
    chat = mock.build()
    said = [str((await mocked(chat, "next_action@1"))["payload"]) for _ in range(3)]
    assert ["run_worker" in one for one in said] == [True, False, False]
    assert ["mark_complete" in one for one in said] == [False, True, True]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.type)
async def test_whatever_the_mock_says_is_a_message_of_its_type(message: type[Message]) -> None:
    said = await mocked(mock.build(), f"{message.type}@1")
    assert said["type"] == message.type
    message.model_validate(said["payload"])


async def test_the_mock_has_an_answer_to_every_prompt_there_is() -> None:
    types = {message.type for message in MESSAGES}
    for name in prompt_names():
        assert (await mocked(mock.build(), f"{name}@1"))["type"] in types
