"""Proposals for findings: whatever the program in the sandbox answers, only sound edits of the finding's file come out."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from typing_extensions import override

from sandbox.backends.base import Guest
from sandbox.proposals import MAX_LINE_BYTES, propose_edits
from sandbox.spec import RunLimits
from sandbox.types import (
    CommandResult,
    EditDoubt,
    EditProposal,
    ProposalRequest,
    ToolFinding,
)

pytestmark = pytest.mark.anyio
GUEST = Path(__file__).parents[3] / "sandbox/guest"
REQUEST = ProposalRequest(
    findings=(
        ToolFinding(path="a.py", line=2, code="E711"),
        ToolFinding(path="test_a.py", line=1, code="E711"),
    ),
    protected=("test_*.py",),
    most=2,
)
PROPOSAL: dict[str, Any] = {
    "finding": 0,
    "template": "comparisons",
    "cost": 0.2,
    "edits": [{"path": "a.py", "start": 0, "end": 1, "text": "x"}],
    "description": "line 2: `==` became `is`",
}


class AnsweringGuest:
    """The part of Guest that is used: answers what it is told to answer."""

    workdir = "/work/repo"
    guest_dir = "/opt/guest"
    python = "/opt/env/bin/python"

    def __init__(self, *answers: object) -> None:
        self.results = b"\n".join(
            a if isinstance(a, bytes) else json.dumps(a).encode() for a in answers
        )
        self.asked: dict[str, Any] = {}

    async def run(
        self,
        argv: tuple[str, ...],
        *,
        limits: RunLimits,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> CommandResult:
        self.asked = {
            "argv": argv,
            "limits": limits,
            "cwd": cwd,
            "env": env,
            "stdin": json.loads(stdin),
        }
        return CommandResult(argv=argv, exit_code=0, results=self.results)


async def answered(
    *answers: object, request: ProposalRequest = REQUEST
) -> tuple[EditProposal, ...]:
    return await propose_edits(cast(Guest, AnsweringGuest(*answers)), request)


async def test_a_sound_proposal_comes_out_and_the_program_got_the_findings() -> None:
    guest = AnsweringGuest(PROPOSAL)
    (proposal,) = await propose_edits(cast(Guest, guest), REQUEST, environment={"A": "b"})
    assert proposal.edits[0].text == "x"
    assert guest.asked["argv"] == ("/opt/env/bin/python", "/opt/guest/search/findings/server.py")
    assert guest.asked["stdin"]["root"] == "/work/repo"
    assert guest.asked["stdin"]["findings"][0] == {
        "path": "a.py",
        "line": 2,
        "column": 0,
        "code": "E711",
        "message": "",
    }
    assert guest.asked["env"]["A"] == "b"
    assert guest.asked["limits"].wall_s > REQUEST.time_limit_s


async def test_proposals_come_finding_by_finding_and_cheapest_first_and_not_too_many() -> None:
    dear, cheap = PROPOSAL | {"cost": 2.0}, PROPOSAL | {"cost": 0.1}
    found = await answered(dear, cheap, PROPOSAL | {"cost": 0.0})
    assert [one.cost for one in found] == [0.1, 2.0]


@pytest.mark.parametrize(
    "wrong",
    [
        b"not json",
        b"",
        b"[" * 100_000,
        b'{"a": "' + b"x" * MAX_LINE_BYTES + b'"}',
        PROPOSAL | {"finding": 2},
        PROPOSAL | {"finding": -1},
        PROPOSAL | {"cost": "NaN"},
        PROPOSAL | {"cost": -1.0},
        PROPOSAL | {"cost": float("inf")},
        PROPOSAL | {"edits": []},
        PROPOSAL | {"template": "Not a name"},
        PROPOSAL | {"more": 1},
        PROPOSAL | {"edits": [{"path": "b.py", "start": 0, "end": 1, "text": "x"}]},
        PROPOSAL | {"edits": [{"path": "../a.py", "start": 0, "end": 1, "text": "x"}]},
        PROPOSAL | {"edits": [{"path": "a.py", "start": 3, "end": 1, "text": "x"}]},
        PROPOSAL
        | {"finding": 1, "edits": [{"path": "test_a.py", "start": 0, "end": 1, "text": "x"}]},
        PROPOSAL | {"edits": [{"path": "a.py", "start": 0, "end": 1, "text": "x"}] * 500},
    ],
)
async def test_an_unsound_answer_is_dropped(wrong: object) -> None:
    assert await answered(wrong) == ()
    assert len(await answered(wrong, PROPOSAL)) == 1


@pytest.mark.parametrize(
    "path", ["/etc/a.py", "../a.py", ".github/a.py", "a/../b.py", "a.txt", "a\u202e.py"]
)
async def test_a_path_that_may_not_be_edited_gets_no_proposal(path: str) -> None:
    request = ProposalRequest(findings=(ToolFinding(path=path, line=1, code="E711"),))
    edits = [{"path": path, "start": 0, "end": 1, "text": "x"}]
    assert await answered(PROPOSAL | {"edits": edits}, request=request) == ()


async def test_control_characters_of_a_description_do_not_come_out() -> None:
    (one,) = await answered(PROPOSAL | {"description": "a\x1b[2Jb\n" + "x" * 9999})
    assert one.description.isprintable()
    assert len(one.description) <= 200


def ask(folder: Path, *findings: ToolFinding) -> list[dict[str, Any]]:
    """Run the real program: it reads and answers, and runs nothing."""
    request = ProposalRequest(findings=findings).model_dump(mode="json") | {"root": str(folder)}
    done = subprocess.run(
        [
            "/bin/sh",
            "-c",
            '"$0" "$1" 3>&1',
            sys.executable,
            str(GUEST / "search/findings/server.py"),
        ],
        input=json.dumps(request).encode(),
        capture_output=True,
        check=False,
        cwd=folder,
        timeout=60,
    )
    assert done.stderr == b""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_program_reads_files_of_the_checkout_only(tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    repository.mkdir()
    (repository / "a.py").write_text("x = a == None\n")
    (tmp_path / "secret.py").write_text("x = a == None\n")
    (repository / "link.py").symlink_to(tmp_path / "secret.py")
    (repository / "sandbox.py").write_text("raise SystemExit('imported')\n")
    (repository / "ast.py").write_text("raise SystemExit('imported')\n")
    paths = ("a.py", "../secret.py", "link.py", "missing.py", str(tmp_path / "secret.py"))
    answers = ask(repository, *(ToolFinding(path=path, line=1, code="E711") for path in paths))
    assert {answer["finding"] for answer in answers} == {0}
    assert answers[0]["edits"] == [{"path": "a.py", "start": 4, "end": 13, "text": "a is None"}]


def test_the_program_survives_a_file_that_exhausts_the_parser(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = " + "-" * 100_000 + "1\n")
    (tmp_path / "b.py").write_text("if a == None:\n    b()\n")
    answers = ask(
        tmp_path, *(ToolFinding(path=path, line=1, code="E711") for path in ("a.py", "b.py"))
    )
    assert {answer["finding"] for answer in answers} == {1}


TSC = ProposalRequest(
    findings=(
        ToolFinding(path="a.py", line=2, code="E711"),
        ToolFinding(path="web/src/a.ts", line=1, code="TS2339"),
    ),
    command="npm ci && cd web && CI=1 npx tsc -p tsconfig.build.json --noEmit",
    step=2,
)
TYPED = PROPOSAL | {
    "template": "ts_name",
    "edits": [{"path": "web/src/model.ts", "start": 0, "end": 1, "text": "x"}],
}


def editing(path: str) -> dict[str, Any]:
    return TYPED | {"edits": [{"path": path, "start": 0, "end": 1, "text": "x"}]}


async def test_errors_of_tsc_go_to_the_language_service_of_their_project() -> None:
    guest = AnsweringGuest(TYPED)
    request = TSC.with_(findings=TSC.findings[1:])
    (proposal,) = await propose_edits(cast(Guest, guest), request, working_directory="app")
    assert proposal.edits[0].path == "web/src/model.ts", "the cause may be in another file"
    assert guest.asked["argv"] == ("node", "/opt/guest/node/typescript/server.cjs")
    assert guest.asked["cwd"] == "/work/repo/app/web"
    assert guest.asked["stdin"]["args"] == ["-p", "tsconfig.build.json", "--noEmit"]
    assert guest.asked["stdin"]["root"] == "/work/repo"


async def test_each_program_is_asked_about_its_own_findings() -> None:
    guest = AnsweringGuest(TYPED)
    found = await propose_edits(cast(Guest, guest), TSC)
    assert [one.finding for one in found] == [1]
    assert [one["path"] for one in guest.asked["stdin"]["findings"]] == ["web/src/a.ts"]


@pytest.mark.parametrize(
    "path",
    [
        "src/a.test.ts",
        "tests/a.ts",
        "node_modules/left-pad/index.d.ts",
        "vitest.config.ts",
        "a.py",
        "../a.ts",
        "tsconfig.json",
        ".hidden/a.ts",
    ],
)
async def test_no_error_of_tsc_is_repaired_in_a_protected_or_foreign_file(path: str) -> None:
    request = TSC.with_(findings=TSC.findings[1:])
    assert await answered(editing(path), request=request) == ()
    both = TYPED | {"edits": [*TYPED["edits"], *editing(path)["edits"]]}
    assert await answered(both, request=request) == ()


@pytest.mark.parametrize("command", ["npx vue-tsc --noEmit", "npx eslint .", "", "tsc | head"])
async def test_only_tsc_starts_the_language_service(command: str) -> None:
    request = TSC.with_(findings=TSC.findings[1:], command=command, step=1)
    assert await answered(TYPED, request=request) == ()


LINTED = ProposalRequest(
    findings=(
        ToolFinding(path="web/src/a.js", line=2, code="eqeqeq"),
        ToolFinding(path="web/src/b.tsx", line=1, code="eqeqeq"),
        ToolFinding(path="a.py", line=1, code="E711"),
    ),
    command="cd web && CI=1 npx eslint 'src/**/*.js' --max-warnings 0",
)


def suggested(path: str, finding: int = 0) -> dict[str, Any]:
    edits = [{"path": path, "start": 0, "end": 1, "text": "x"}]
    kind = {"template": "eslint_suggestion", "doubt": "alternatives"}
    return PROPOSAL | kind | {"finding": finding, "edits": edits}


async def test_findings_of_eslint_go_to_the_projects_own() -> None:
    guest = AnsweringGuest(suggested("web/src/a.js"), suggested("web/src/b.tsx", 1))
    found = await propose_edits(cast(Guest, guest), LINTED, working_directory="app")
    assert [(one.finding, one.doubt) for one in found] == [
        (0, EditDoubt.ALTERNATIVES),
        (1, EditDoubt.ALTERNATIVES),
    ]
    assert guest.asked["argv"] == ("node", "/opt/guest/node/eslint.cjs")
    assert guest.asked["cwd"] == "/work/repo/app/web"
    assert guest.asked["env"]["CI"] == "1"
    assert guest.asked["stdin"]["args"] == ["src/**/*.js", "--max-warnings", "0"]
    assert [one["path"] for one in guest.asked["stdin"]["findings"]] == [
        "web/src/a.js",
        "web/src/b.tsx",
    ]


@pytest.mark.parametrize("path", ["web/src/b.js", "web/src/a.json", "../a.js"])
async def test_an_offer_of_eslint_edits_the_file_of_its_finding(path: str) -> None:
    assert await answered(suggested(path), request=LINTED) == ()
    assert await answered(suggested("web/src/a.js") | {"doubt": "other"}, request=LINTED) == ()


@pytest.mark.parametrize("command", ["eslint src/*.js", "yarn eslint 'src/*.js'"])
async def test_eslint_gets_patterns_of_files_as_they_are(command: str) -> None:
    guest = AnsweringGuest(suggested("web/src/a.js"))
    request = LINTED.with_(command=command, findings=LINTED.findings[:1])
    assert len(await propose_edits(cast(Guest, guest), request)) == 1
    assert guest.asked["stdin"]["args"] == ["src/*.js"]


@pytest.mark.parametrize("command", ["npx biome ci .", "npx tsc", "eslint . | head", ""])
async def test_only_eslint_is_asked_for_offers(command: str) -> None:
    request = LINTED.with_(command=command, findings=LINTED.findings[:1])
    assert await answered(suggested("web/src/a.js"), request=request) == ()


async def test_the_reason_for_no_proposal_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Silent(AnsweringGuest):
        @override
        async def run(self, argv: tuple[str, ...], **_: Any) -> CommandResult:
            return CommandResult(argv=argv, exit_code=1, stderr="trace\nanother \x1b form\n")

    with caplog.at_level("INFO", logger="sandbox.proposals"):
        assert await propose_edits(cast(Guest, Silent()), REQUEST) == ()
    assert "program=search/findings/server.py exit=1 reason='another   form'" in caplog.text
