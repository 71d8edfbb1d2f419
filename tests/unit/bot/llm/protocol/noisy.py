"""What models and command-line agents really write around a message: answers, each in every form, with what is right."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bot.llm.protocol.extract import CAP
from bot.llm.protocol.messages import AssessLive, CritiquePlan, Message, NextStep, Reflect


@dataclass(frozen=True)
class Answer:
    """One message as a model means it, and as an example of its kind would stand in a question."""

    returns: type[Message]
    fields: dict[str, Any]
    yaml: str
    example: str

    @property
    def right(self) -> Message:
        return self.returns.model_validate(self.fields)

    @property
    def json(self) -> str:
        return json.dumps({"type": self.returns.type, "version": 1, "payload": self.fields})


@dataclass(frozen=True)
class Noisy:
    """A reply, and the message that has to be found in it; None must be a typed failure."""

    name: str
    text: str
    returns: type[Message]
    right: Message | None
    echoed: str = ""


def _envelope(kind: str, payload: str) -> str:
    return f"type: {kind}\nversion: 1\npayload:\n{payload}"


ANSWERS = (
    Answer(
        NextStep,
        {
            "decision": {
                "action": "run_worker",
                "reason": "the suspect is clear: `clamp` compares with <",
            },
            "worker_call": {"worker_type": "search", "mode": "exec", "prompt": "mend clamp"},
            "updated_acceptance_criteria": [{"id": "001", "passed": "no"}],
        },
        _envelope(
            "next_action",
            "  decision:\n    action: run_worker\n    reason: the suspect is clear: `clamp` compares with <\n"
            "  worker_call:\n    worker_type: search\n    mode: exec\n    prompt: mend clamp\n"
            "  updated_acceptance_criteria:\n    - id: 001\n      passed: no\n",
        ),
        _envelope("next_action", "  decision:\n    action: abort\n    reason: as an example\n"),
    ),
    Answer(
        CritiquePlan,
        {
            "overall": 0.0,
            "feasibility": 0.7,
            "issues": [
                {
                    "severity": "high",
                    "category": "logic",
                    "description": "step S-1 edits\nthe wrong file",
                    "suggestion": "it's `b.py`, #2",
                    "affected_steps": ["S-1"],
                }
            ],
            "recommendation": "reject",
            "rationale": '*args is lost: see "b.py"',
        },
        _envelope(
            "critique_plan",
            "  overall: 0.0\n  feasibility: 0.7\n  issues:\n    - severity: high\n      category: logic\n"
            "      description: |\n        step S-1 edits\n        the wrong file\n"
            '      suggestion: "it\'s `b.py`, #2"\n      affected_steps: [S-1]\n'
            '  recommendation: reject\n  rationale: *args is lost: see "b.py"\n',
        ),
        _envelope(
            "critique_plan",
            "  overall: 0.95\n  recommendation: approve\n  rationale: as an example\n",
        ),
    ),
    Answer(
        AssessLive,
        {
            "should_continue": False,
            "should_deepen": True,
            "confidence_adjustment": -0.3,
            "feedback": "look at [b.py]",
        },
        _envelope(
            "assess_live",
            "  should_continue: no\n  should_deepen: true\n  confidence_adjustment: -0.3\n  feedback: look at [b.py]\n",
        ),
        _envelope(
            "assess_live",
            "  should_continue: true\n  should_deepen: false\n  confidence_adjustment: 0.5\n",
        ),
    ),
    Answer(
        Reflect,
        {
            "insights": [
                {"category": "success", "description": "größer als “gedacht”", "evidence": "1 of 3"}
            ],
            "lessons_learned": ["Note: bounds are inclusive", "second"],
            "confidence": "0.8",
        },
        _envelope(
            "reflect",
            "  insights:\n    - category: success\n      description: größer als “gedacht”\n      evidence: 1 of 3\n"
            "  lessons_learned:\n    - Note: bounds are inclusive\n    - second\n  confidence: 0.8\n",
        ),
        _envelope("reflect", "  lessons_learned:\n    - as an example\n"),
    ),
)

_LOG = "2026-11-22T10:00:00Z INFO step: running pytest -x\nE   assert 3 == 4\n> type: assert\n"


def _fence(text: str, info: str = "yaml", mark: str = "```") -> str:
    return f"{mark}{info}\n{text}{mark}\n"


def _indented(text: str, by: str) -> str:
    return "".join(f"{by}{line}\n" if line else "\n" for line in text.splitlines())


def _tabbed(text: str) -> str:
    lines = (line for line in text.splitlines())
    return "".join(
        "\t" * ((len(line) - len(line.lstrip())) // 2) + line.lstrip() + "\n" for line in lines
    )


def _codex(answer: Answer) -> str:
    return (
        "OpenAI Codex v0.169.0 (research preview)\n--------\nworkdir: /tmp/empty\nmodel: gpt-5\nprovider: openai\n"
        "approval: never\nsandbox: read-only\nsession id: 0199\n--------\nuser\nAnswer with one message, such as\n\n"
        f"{answer.example}\n\ncodex\n{answer.yaml}tokens used\n240\n{answer.yaml}"
    )


def _camel(answer: Answer) -> str:
    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {_camel_name(key): renamed(entry) for key, entry in value.items()}
        return [renamed(entry) for entry in value] if isinstance(value, list) else value

    return json.dumps(
        {"type": answer.returns.type, "version": "1", "payload": renamed(answer.fields)}, indent=2
    )


def _camel_name(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


FORMS: dict[str, Callable[[Answer], str]] = {
    "a yaml block": lambda a: _fence(a.yaml),
    "a yml block in capitals": lambda a: _fence(a.yaml, "YML"),
    "a block without a word": lambda a: _fence(a.yaml, ""),
    "a text block": lambda a: _fence(a.yaml, "text"),
    "tildes": lambda a: _fence(a.yaml, "yaml", "~~~"),
    "four backticks": lambda a: _fence(a.yaml, "yaml", "````"),
    "a block with a title": lambda a: _fence(a.yaml, 'yaml title="answer"'),
    "a space before the word": lambda a: _fence(a.yaml, " yaml  "),
    "an indented block in a list": lambda a: (
        "1. Here it is:\n\n" + _indented(_fence(a.yaml), "   ") + "\n2. Done.\n"
    ),
    "prose around a block": lambda a: (
        f"I looked at it: the type is clear.\n\n{_fence(a.yaml)}\nHope this helps!\n"
    ),
    "no newline before the closing fence": lambda a: f"```yaml\n{a.yaml.rstrip()}\n```",
    "an example first": lambda a: (
        f"For example:\n{_fence(a.example)}\nMy answer:\n{_fence(a.yaml)}"
    ),
    "an example in another block first": lambda a: f"{_fence(a.example, '')}{_fence(a.yaml, '')}",
    "code before": lambda a: f"```python\ntype: int = 3\nversion: int = 1\n```\n{_fence(a.yaml)}",
    "code after": lambda a: (
        f"{_fence(a.yaml)}\n```python\ndef f():\n    return {{'type': 1}}\n```\n"
    ),
    "a diff after": lambda a: f"{_fence(a.yaml)}\n```diff\n-type: a\n+type: b\n```\n",
    "a message of another type after": lambda a: (
        _fence(a.yaml) + _fence("type: other_thing\nversion: 1\n")
    ),
    "a broken one after": lambda a: (
        _fence(a.yaml) + _fence(f"type: {a.returns.type}\npayload: [1, 2\n")
    ),
    "an unclosed block": lambda a: f"Sure.\n```yaml\n{a.yaml}",
    "an unclosed example first": lambda a: (
        f"```yaml\n{a.example}\nNo, rather:\n```yaml\n{a.yaml}```\n"
    ),
    "an unclosed block with prose after": lambda a: (
        f"```yaml\n{a.yaml}\nThat is my answer.\nGoodbye\n"
    ),
    "a closing fence only": lambda a: f"{a.yaml}```\n",
    "bare": lambda a: a.yaml,
    "bare with blank lines": lambda a: f"\n\n\n{a.yaml}\n\n",
    "a document's marks": lambda a: f"---\n{a.yaml}...\n",
    "two documents": lambda a: f"---\n{a.example}---\n{a.yaml}",
    "bare, indented": lambda a: _indented(a.yaml, "    "),
    "a list of one": lambda a: "- " + _indented(a.yaml, "  ").lstrip(),
    "under a key": lambda a: "message:\n" + _indented(a.yaml, "  "),
    "a label before": lambda a: f"yaml\n{a.yaml}",
    "prose before": lambda a: f"The tests fail: add is wrong.\nSo my decision: see below\n{a.yaml}",
    "prose after": lambda a: f"{a.yaml}\nThis should do it, I think.\nTell me if not\n",
    "prose with a colon after": lambda a: (
        f"{a.yaml}Note: all of this is a guess: nothing was run\n"
    ),
    "windows line ends": lambda a: a.yaml.replace("\n", "\r\n"),
    "windows line ends in a block": lambda a: _fence(a.yaml).replace("\n", "\r\n"),
    "old line ends": lambda a: a.yaml.replace("\n", "\r"),
    "hard spaces": lambda a: a.yaml.replace("  ", "\u00a0\u00a0"),
    "a byte order mark": lambda a: "\ufeff" + a.yaml,
    "colours": lambda a: (
        "\x1b[1;32m" + a.yaml.replace("\n", "\x1b[0m\n\x1b[2K\x1b[36m") + "\x1b[0m"
    ),
    "a terminal's title": lambda a: "\x1b]0;agent\x07" + a.yaml,
    "bidi controls": lambda a: a.yaml.replace("type", "\u202etype\u202c").replace(
        "payload", "pay\u2066load"
    ),
    "zero width": lambda a: a.yaml.replace("version", "ver\u200bsion").replace("\n", "\u200d\n"),
    "tags that nobody sees": lambda a: "\U000e0041\U000e0042" + a.yaml + "\U000e0043",
    "nul characters": lambda a: a.yaml.replace("\n", "\x00\n"),
    "stray backticks": lambda a: f"`{a.yaml}`",
    "stray fences glued on": lambda a: f"```{a.yaml.rstrip()}```",
    "single backticks and a word": lambda a: f"`yaml\n{a.yaml}`\n",
    "thoughts before": lambda a: f"<think>\nPerhaps\n{_fence(a.example)}</think>\n{_fence(a.yaml)}",
    "thoughts without a beginning": lambda a: f"{_fence(a.example)}\n</think>\n\n{a.yaml}",
    "thoughts in thoughts": lambda a: f"<think>a<think>b</think>{a.example}</think>{a.yaml}",
    "json": lambda a: a.json,
    "json, indented": lambda a: json.dumps(json.loads(a.json), indent=4),
    "json in a block": lambda a: _fence(a.json + "\n", "json"),
    "json in prose": lambda a: f"Here you go: {a.json} - as asked.\n",
    "json after an example": lambda a: (
        f'{{"type": "{a.returns.type}", "version": 9, "payload": {{}}}}\n{a.json}\n'
    ),
    "json with other names": _camel,
    "json in a list": lambda a: f"[{a.json}]",
    "a version as text": lambda a: a.yaml.replace("version: 1", 'version: "1.0"'),
    "no version": lambda a: a.yaml.replace("version: 1\n", ""),
    "other letters in the type": lambda a: a.yaml.replace(
        a.returns.type, a.returns.type.upper().replace("_", "-")
    ),
    "no payload": lambda a: a.yaml.replace("payload:\n", "").replace("\n  ", "\n"),
    "more than was asked for": lambda a: a.yaml + "  mood: good\nsignature: me\n",
    "comments": lambda a: (
        "# my answer\n" + a.yaml.replace("payload:", "payload:  # what you asked for")
    ),
    "a quoted type": lambda a: a.yaml.replace(
        f"type: {a.returns.type}", f'"type": "{a.returns.type}"'
    ),
    "codex": _codex,
    "codex, the answer in a block": lambda a: _codex(a).replace(a.yaml, _fence(a.yaml)),
    "gemini": lambda a: f"Loaded cached credentials.\nData collection is disabled.\n{a.yaml}",
    "claude": lambda a: f"I'll judge this carefully.\n\n{_fence(a.yaml)}\n**Summary**: done.\n",
    "a chat's roles": lambda a: f"<|user|>\n{a.example}<|assistant|>\n{a.yaml}<|end|>\n",
    "a log before": lambda a: _LOG * 50 + a.yaml,
    "a megabyte before": lambda a: _LOG * 12_000 + _fence(a.yaml),
    "a megabyte after": lambda a: _fence(a.yaml) + "and so on and on\n" * 64_000,
    "fifty blocks before": lambda a: _fence("x: 1\n") * 50 + _fence(a.yaml),
    "fifty blocks after": lambda a: _fence(a.yaml) + _fence("x = 1\n", "python") * 50,
}
"""Forms in which the answer has to be found."""

BROKEN: dict[str, Callable[[Answer], str]] = {
    "nothing": lambda _: "",
    "prose": lambda a: f"I would say {a.returns.type}, since the tests fail: add is wrong.",
    "another type": lambda a: a.yaml.replace(a.returns.type, "other_thing"),
    "another version": lambda a: a.yaml.replace("version: 1", "version: 2"),
    "no fields": lambda a: f"type: {a.returns.type}\nversion: 1\npayload: {{}}\n",
    "a list for a payload": lambda a: f"type: {a.returns.type}\nversion: 1\npayload:\n  - one\n",
    "places not filled": lambda a: (
        f"type: {a.returns.type}\nversion: 1\npayload: <the fields that are asked for>\n"
    ),
    "cut off in a word": lambda a: _fence(
        f'type: {a.returns.type}\nversion: 1\npayload:\n  reason: "it was'
    )[:-4],
    "thoughts without an end": lambda a: f"<think>\n{a.yaml}",
    "the middle of a megabyte": lambda a: _LOG * 6_000 + _fence(a.yaml) + _LOG * 9_000,
    "a tag": lambda a: (
        f"type: {a.returns.type}\nversion: 1\npayload: !!python/object/apply:os.system [true]\n"
    ),
    "laughs": lambda a: (
        f"type: {a.returns.type}\npayload:\n  a: &a [x, x]\n  b: &b [*a, *a]\n  c: [*b, *b]\n"
    ),
    "deep": lambda a: f"type: {a.returns.type}\npayload: " + "[" * 5_000,
    "deep by dashes": lambda a: f"type: {a.returns.type}\npayload:\n  " + "- " * 5_000 + "x",
    "half a json": lambda a: a.json[: len(a.json) // 2],
}
"""Forms in which there is no answer, or none that may be taken."""


_LONG = {
    "lines": "x\n" * (CAP // 2),
    "brackets": "[\n" * (CAP // 2),
    "types": "type: next_action\n" * (CAP // 18),
    "half fences": "```yaml\n" * (CAP // 8),
    "fences": "```yaml\ntype: a\n```\n" * (CAP // 20),
    "backticks": "`" * CAP,
    "ticked lines": "`a\n" * (CAP // 3),
    "ticks in a line": "a `" * (CAP // 3),
    "an open fence line": "```" + "a" * (CAP - 4) + "`",
    "spaces": " " * CAP,
    "tabs": "\t\n" * (CAP // 2),
    "hidden": "é\u202e" * (CAP // 2),
    "escapes": "\x1b[" * (CAP // 2),
    "thoughts": "<think>" * (CAP // 7),
    "ends of thoughts": "</think>" * (CAP // 8),
    "objects": '{"type":' * (CAP // 8),
    "dashes": "type: next_action\npayload:\n  " + "- " * (CAP // 2),
    "flow": "type: next_action\npayload: " + "[" * CAP,
    "indentation": "type: next_action\n" + "".join(" " * n + "a:\n" for n in range(700)),
    "mistakes": ("```yaml\ntype: next_action\n" + "a: b: c\n" * 200 + "```\n") * (CAP // 1_640),
    "quotes": 'type: next_action\npayload: "' + "'\"" * (CAP // 2),
    "keys": "type: next_action\n" + "? a\n" * (CAP // 4),
    "large": ("type: next_action\nversion: 1\npayload:\n" + "  b: [a, b, c]\n" * 900) * 20,
}

HOSTILE = {name: text[:CAP] for name, text in _LONG.items()}
"""As much as is read of a reply, of what costs a reader most."""


def replies() -> Iterator[Noisy]:
    """Every answer in every form."""
    for answer in ANSWERS:
        kind = answer.returns.type
        for name, form in FORMS.items():
            yield Noisy(f"{kind}: {name}", form(answer), answer.returns, answer.right)
        for name, form in BROKEN.items():
            yield Noisy(f"{kind}: {name}", form(answer), answer.returns, None)
        question = f"Judge this.\n\n{_fence(answer.example)}"
        yield Noisy(f"{kind}: the question only", question, answer.returns, None, echoed=question)
        repeated = f"user\n{question}\nassistant\n{answer.yaml}"
        yield Noisy(
            f"{kind}: the question, then bare",
            repeated,
            answer.returns,
            answer.right,
            echoed=question,
        )
