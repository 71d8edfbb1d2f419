"""What a model is shown: the parts, their room, and what is left out by name."""

import time
from collections.abc import Mapping

import pytest

from bot.domain.diagnosis import Suspect
from bot.domain.lesson import RecalledLesson
from bot.domain.patch import NearMiss
from bot.domain.request import Answer
from bot.fixers.rung2_model.budget import CHARACTERS_PER_TOKEN, PromptPart, PromptSpace, shortened
from bot.fixers.rung2_model.context import Brief, build_brief
from bot.fixers.rung2_model.request_more import grant_request, parse_proposal, parse_wanted
from bot.fixers.rung2_model.sources import Source
from bot.fixers.trials import Failure
from bot.llm.prompts.render import prompt_file
from bot.llm.protocol.messages import Wanted
from sandbox.types import RedHunk, SourceDiff, TestStatus
from tests.builders import (
    a_candidate,
    a_commanded_request,
    a_diagnosis,
    a_failure,
    a_lesson,
    a_lint_report,
    a_report,
    a_running_mission,
    a_verification,
    an_iteration,
    facts,
)
from tests.fakes.fake_workspace import FakeWorkspace
from tests.unit.bot.fixers.rung2_model.climbs import ADD, FILES, a_red_run, said, wants

pytestmark = pytest.mark.anyio

SHOP = '''"""A shop."""

import math
import os

RATE = 0.2
UNUSED = "unused"


class Cart:
    """What is bought."""

    def __init__(self, prices):
        self.prices = prices

    def total(self):
        return rounded(sum(self.prices) * (1 - RATE))

    def empty(self):
        self.prices = []


def rounded(value):
    return math.floor(value)
'''
HUGE = (
    "def huge(x):\n"
    + "".join(f"    x = x + {n}  # {'.' * 60}\n" for n in range(300))
    + "    return x\n"
)
FILLER = "\n\n" + "\n\n".join(f"def filler_{n}(x):\n    return x + {n}" for n in range(60)) + "\n"


async def a_brief(
    files: Mapping[str, str] = FILES,
    *,
    tokens: int = 12_000,
    suspects: tuple[tuple[str, int], ...] = (("calc.py", 7),),
    red_diff: SourceDiff | None = None,
    **known: object,
) -> Brief:
    context = a_running_mission(**{"test_results": a_red_run(), **known})
    report = context.test_results
    assert report is not None
    diagnosis = a_diagnosis(
        suspects=tuple(
            Suspect(file=file, line=line, score=0.9, reason="r") for file, line in suspects
        )
    )
    workspace = FakeWorkspace(files, facts=facts(red_diff=red_diff or SourceDiff()))
    return await build_brief(
        Failure(context=context, diagnosis=diagnosis, workspace=workspace), report, tokens
    )


def shown(brief: Brief, part: PromptPart) -> str:
    return "\n".join(f"{one.label} {one.origin}\n{one.text}" for one in brief.parts.get(part, ()))


async def test_failing_tests_come_with_their_source() -> None:
    brief = await a_brief()

    assert ADD in shown(brief, PromptPart.FAILING)
    assert "assert add(1, 2) == 3" in shown(brief, PromptPart.TESTS)
    assert "is_even(2)" not in shown(brief, PromptPart.TESTS), "only of the failing test"


async def test_fixtures_are_shown_from_the_nearest_conftest() -> None:
    files = {
        "calc.py": FILES["calc.py"],
        "conftest.py": "import pytest\n\n\n@pytest.fixture\ndef number():\n    return 'far'\n",
        "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef number():\n    return 'near'\n",
        "tests/test_calc.py": "def test_add(number):\n    assert number\n",
    }

    brief = await a_brief(files)

    assert "near" in shown(brief, PromptPart.TESTS)
    assert "far" not in shown(brief, PromptPart.TESTS)


async def test_tests_are_shown_and_may_not_be_edited() -> None:
    brief = await a_brief()

    assert {file.path: file.editable for file in brief.sent} == {
        "calc.py": True,
        "tests/test_calc.py": False,
    }


async def test_a_suspect_function_comes_with_what_it_needs_and_no_more() -> None:
    brief = await a_brief({**FILES, "shop.py": SHOP + FILLER}, suspects=(("shop.py", 17),))

    text = shown(brief, PromptPart.SOURCES)
    for line in ("import math", "RATE = 0.2", "class Cart:", "def total(self):", "return rounded("):
        assert line in text
    assert "UNUSED" not in text
    assert "filler_7" not in text
    assert "lines " in text
    assert "are not shown" in text
    assert "def rounded(value):" in shown(brief, PromptPart.SKELETON), "a callee's signature"
    assert "(Cart) def empty(self):" in shown(brief, PromptPart.SKELETON)


async def test_a_small_file_is_shown_whole() -> None:
    brief = await a_brief()

    assert FILES["calc.py"].strip() in shown(brief, PromptPart.SOURCES)


def a_long_function(lines: int) -> str:
    body = "".join(f"    x = x + {n}  # {'.' * 30}\n" for n in range(lines))
    return f"def long(x):\n{body}    return x\n"


async def test_a_long_function_is_shown_whole_if_it_fits() -> None:
    files = {**FILES, "big.py": a_long_function(90)}
    text = shown(await a_brief(files, suspects=(("big.py", 10),)), PromptPart.SOURCES)
    assert "x + 89 " in text
    small = await a_brief(files, tokens=3_000, suspects=(("big.py", 10),))
    assert "x + 89 " not in shown(small, PromptPart.SOURCES)
    assert "x + 9 " in shown(small, PromptPart.SOURCES)


async def test_what_a_failing_test_calls_is_shown_although_no_traceback_leads_there() -> None:
    test = (
        "import pytest\nfrom shop import Cart\n\n\ndef checked(cart):\n    return cart.pay(1)\n\n\n"
        "def test_add():\n    with pytest.raises(ValueError):\n        checked(Cart())\n"
    )
    files = {
        "src/shop/__init__.py": "from shop.cart import Cart\n",
        "src/shop/cart.py": (
            "class Cart:\n    def pay(self, money):\n        return money\n\n"
            + "".join(f"    def other_{n}(self):\n        return {n}\n\n" for n in range(60))
        ),
        "tests/test_calc.py": test,
    }
    text = shown(await a_brief(files, suspects=()), PromptPart.SOURCES)
    assert "def pay(self, money):\n        return money" in text
    assert "other_7" not in text


async def test_a_table_that_the_function_reads_is_shown_with_it() -> None:
    table = "RATES = {\n" + "".join(f"    'k{n}': {n},\n" for n in range(20)) + "}\n"
    other = table.replace("RATES", "OTHERS").replace("'k", "'o")
    code = f"{table}\n\n{other}\n\ndef rate(kind):\n    return RATES[kind]\n{FILLER}"
    line = code.splitlines().index("    return RATES[kind]") + 1
    brief = await a_brief({**FILES, "rates.py": code}, suspects=(("rates.py", line),))
    text = shown(brief, PromptPart.SOURCES)
    assert "'k19': 19" in text
    assert "'o19'" not in text


async def test_source_that_is_shown_is_not_repeated_in_the_traceback() -> None:
    traceback = (
        "    def test_add():\n>       assert add(1, 2) == 3\nE       assert -1 == 3\n\n"
        "calc.py:7: in add\n    return a - b\n    something_else()\n"
    )
    failure = a_failure(name=ADD, traceback=traceback)
    report = a_red_run().with_(failures=(failure,))
    text = shown(await a_brief(test_results=report), PromptPart.FAILING)
    assert ">       assert add(1, 2) == 3\nE       assert -1 == 3" in text
    assert "def test_add()" not in text
    assert "return a - b" not in text
    assert "something_else()" in text


async def test_passing_tests_of_the_suspect_function_are_shown() -> None:
    more = "\n\ndef test_zero():\n    assert add(0, 0) == 0\n\n\ndef test_odd():\n    assert not is_even(3)\n"
    file = "tests/test_calc.py"
    files = {**FILES, file: FILES[file] + more}
    outcomes = {
        ADD: TestStatus.FAIL,
        f"{file}::test_zero": TestStatus.PASS,
        f"{file}::test_odd": TestStatus.PASS,
    }
    report = a_red_run().with_(outcomes=outcomes)
    text = shown(await a_brief(files, test_results=report), PromptPart.TESTS)
    assert "assert add(0, 0) == 0" in text
    assert "passing test" in text
    assert "is_even(3)" not in text


async def test_every_failing_test_is_named_and_parameter_sets_are_merged() -> None:
    names = [f"tests/test_calc.py::test_many[{n}]" for n in range(50)]
    more = [f"tests/test_calc.py::test_{n}" for n in range(60)]
    report = a_red_run().with_(
        outcomes=dict.fromkeys((ADD, *names, *more), TestStatus.FAIL), failure_count=111
    )
    brief = await a_brief(test_results=report)
    *_, others = brief.parts[PromptPart.FAILING]
    assert others.label == "failing too"
    named = others.text.splitlines()
    assert len(named) == 61
    assert "tests/test_calc.py::test_many (50 parameter sets)" in named
    assert ADD not in named


async def test_twins_of_a_near_miss_are_shown_once() -> None:
    def near(line: int, diff: str) -> NearMiss:
        return NearMiss(path="calc.py", line=line, description="x", diff=diff, mended=(ADD,))

    misses = (near(7, "first"), near(7, "twin"), near(11, "elsewhere"))
    text = shown(await a_brief(near_misses=misses), PromptPart.ATTEMPTS)
    assert "first" in text
    assert "twin" not in text
    assert "elsewhere" in text


async def test_the_map_names_the_nearest_files_first_with_their_public_names() -> None:
    files = {
        "shop/cart.py": "def total(x):\n    return x\n",
        "shop/tax.py": "class Tax:\n    pass\n\n\ndef rate(x):\n    return x\n\n\ndef _own():\n    pass\n",
        "far/away.py": "def far():\n    pass\n",
        "tests/test_calc.py": FILES["tests/test_calc.py"],
        ".env": "TOKEN=canary",
    }
    brief = await a_brief(files, suspects=(("shop/cart.py", 1),))
    text = shown(brief, PromptPart.SKELETON)
    assert "shop/tax.py: Tax, rate\nfar/away.py: far" in text
    assert ".env" not in text
    assert "test_calc" not in text


async def test_a_huge_function_is_shown_around_the_line_and_named_as_cut() -> None:
    brief = await a_brief({**FILES, "big.py": HUGE}, suspects=(("big.py", 150),))

    text = shown(brief, PromptPart.SOURCES)
    assert "x + 148 " in text
    assert "x + 10 " not in text
    assert any("huge" in name for name in brief.cut)


async def test_a_file_that_does_not_parse_is_shown_around_the_line() -> None:
    broken = "def broken(:\n" + "\n".join(f"line {n}" for n in range(1, 900))
    brief = await a_brief({**FILES, "broken.py": broken}, suspects=(("broken.py", 400),))

    assert "line 399\n" in shown(brief, PromptPart.SOURCES)
    assert "line 800" not in shown(brief, PromptPart.SOURCES)


async def test_the_room_is_kept_and_what_is_left_out_is_named() -> None:
    files = {
        **FILES,
        **{
            f"m{n}.py": f"def f{n}(x):\n" + f"    x += {n}  # {'.' * 100}\n" * 12 for n in range(30)
        },
    }
    brief = await a_brief(files, tokens=3_000, suspects=tuple((f"m{n}.py", 3) for n in range(30)))

    written = sum(len(one.text) for part in brief.parts.values() for one in part)
    assert written <= 3_000 * CHARACTERS_PER_TOKEN
    assert "m29.py" in "\n".join(brief.cut)
    assert "m0.py" in {file.path for file in brief.sent}
    assert "m29.py" not in {file.path for file in brief.sent}


async def test_the_diff_that_turned_it_red_shows_executed_files_first() -> None:
    red = SourceDiff(
        files={"calc.py": (7,)},
        hunks=(
            RedHunk(path="far.py", line=1, lines=1, before="far = 0\n"),
            RedHunk(path="calc.py", line=7, lines=1, before="    return a + b\n"),
        ),
    )
    brief = await a_brief({**FILES, "far.py": "far = 1\n"}, red_diff=red)

    text = shown(brief, PromptPart.DIFF)
    assert "-    return a + b\n+    return a - b" in text
    assert text.index("calc.py") < text.index("far.py")


async def test_what_was_tried_and_learned_is_shown() -> None:
    near = NearMiss(path="calc.py", line=7, description="- became +", diff="+a + b", mended=(ADD,))
    refused = an_iteration(
        candidate=a_candidate(title="first try"),
        verification=a_verification(green=False, reason="broke test_sub"),
    )
    brief = await a_brief(
        near_misses=(near,),
        iterations=(refused,),
        lessons=(RecalledLesson(lesson=a_lesson(), score=1.0, reason="same fingerprint"),),
    )

    assert "broke test_sub" in shown(brief, PromptPart.ATTEMPTS)
    assert "- became +" in shown(brief, PromptPart.ATTEMPTS)
    assert a_lesson().sentence in shown(brief, PromptPart.LESSONS)


async def test_what_a_person_says_is_shown_as_a_passage() -> None:
    request = a_commanded_request(
        hint="look at add", answer=Answer(proposal_id="p", text="adding is meant")
    )
    brief = await a_brief(request=request)

    assert [one.text for one in brief.said][:2] == ["look at add", "adding is meant"]
    assert not any(one.trusted for one in brief.said)


async def test_findings_and_plain_output_are_shown_where_no_test_failed() -> None:
    findings = await a_brief(test_results=a_lint_report())
    plain = await a_brief(
        test_results=a_report(
            runner="command", outcomes={}, failures=(), failure_count=0, raw_output="it crashed"
        )
    )

    assert "imported but unused" in shown(findings, PromptPart.FAILING)
    assert "it crashed" in shown(plain, PromptPart.FAILING)
    assert plain.task == "Change the program so that the failing command succeeds."


async def test_the_prompts_take_exactly_these_gaps() -> None:
    brief = await a_brief()

    assert set(brief.gaps()) == prompt_file("fix").gaps
    assert prompt_file("fix_function").gaps == {"failing", "code", "feedback"}


async def test_a_wish_is_granted_within_its_room() -> None:
    brief = await a_brief({**FILES, "shop.py": SHOP, "big.py": HUGE})

    wider = await grant_request(
        Wanted(files=("./shop.py", "big.py"), symbols=("Cart.total",)), brief
    )

    assert wider is not None
    asked = shown(wider, PromptPart.ASKED)
    assert "return rounded(" in asked
    assert len(asked) < 2_000 * CHARACTERS_PER_TOKEN + 200
    assert "no space for big.py from line" in asked
    assert {"shop.py", "big.py"} <= {file.path for file in wider.sent}


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(),
        Wanted(files=("nowhere.py", "/etc/passwd", "../../x", ".env", "")),
        Wanted(symbols=("", "nothing", "a::b::c", "::")),
    ],
)
async def test_what_is_not_there_or_not_to_be_shown_is_refused_in_words(wanted: Wanted) -> None:
    brief = await a_brief()
    asked = await grant_request(wanted, brief)
    assert asked.sent == brief.sent
    refused = shown(asked, PromptPart.ASKED)
    assert refused.count("there is no such text") == len(wanted.files) + len(wanted.symbols)
    assert "canary" not in refused


async def test_lines_and_searches_are_answered() -> None:
    brief = await a_brief({**FILES, "shop.py": SHOP + FILLER}, suspects=(("calc.py", 7),))
    wanted = Wanted(
        files=("shop.py:17-18", "grep math.floor", "grep TOKEN", "grep ", "shop.py:9999"),
        symbols=("shop.py", "grep filler_"),
    )
    asked = shown(await grant_request(wanted, brief), PromptPart.ASKED)
    assert "    def total(self):\n" in asked
    assert "grep math.floor: 1 line in the source files\nshop.py:" in asked
    assert "grep TOKEN: 0 lines" in asked, "a secret file is no source"
    assert "grep filler_: 60 lines" in asked
    assert "and 30 more lines" in asked
    assert "shop.py:9999: there is no such text" in asked


async def test_a_search_begins_near_the_suspects_and_says_where_it_ends() -> None:
    far = {f"aaa/m{number:03}.py": "needle = 1\n" for number in range(150)}
    files = {**FILES, **far, "zzz/rates.py": "x = needle\n", "zzz/near.py": "needle = 2\n"}
    brief = await a_brief(files, suspects=(("zzz/rates.py", 1),))
    wanted = Wanted(files=("grep needle",), symbols=("nowhere",))
    asked = shown(await grant_request(wanted, brief), PromptPart.ASKED)
    assert "nowhere: there is no such text in the 100 nearest of 154 source files" in asked
    assert "in the 100 nearest of 154 source files\nzzz/rates.py:1: x = needle\n" in asked
    assert "zzz/near.py:1" in asked


def test_a_wish_is_read_from_either_message() -> None:
    step = "```yaml\ntype: next_action\nversion: 1\npayload:\n  decision: {action: retry_with_context, reason: x}\n"
    assert parse_wanted(f"{step}  context:\n    files: [a.py]\n```").files == ("a.py",)
    assert parse_wanted(wants("b.py")).files == ("b.py",)
    assert parse_wanted("no wish") == Wanted()


def test_the_prompts_own_example_is_no_proposal() -> None:
    example = parse_proposal(prompt_file("fix").text)
    assert example is None or example.title == "more context"
    found = parse_proposal(said("mend it"))
    assert found is not None
    assert found.title == "mend it"


@pytest.mark.parametrize("size", [0, 1, 40, 60, 100, 5_000])
def test_a_shortened_text_is_no_longer_than_it_may_be(size: int) -> None:
    text = "".join(f"line {n}\n" for n in range(200))

    assert len(shortened(text, size)) <= size
    assert shortened("short", 1_000) == "short"


def test_a_room_is_shared_evenly() -> None:
    room = PromptSpace(900)

    assert len(room.cut("x" * 5_000, parts=3)) <= 300
    assert len(room.cut("y" * 5_000, parts=2)) <= 300
    assert room.left >= 300


def test_lines_are_counted_as_the_syntax_tree_counts_them() -> None:
    source = Source("a.py", "x = '\x0c'\r\ny = '\u2028'\r\n\r\ndef f():\r\n    return 1\r\n")

    (function,) = source.functions
    assert source.lines[function.first - 1] == "def f():"
    assert source.region(5, 1_000) == ("f", (4, 5))


async def test_relative_imports_lead_to_the_file_they_name() -> None:
    files = {
        **FILES,
        "pkg/__init__.py": "",
        "pkg/main.py": "from . import near\nfrom .sub import helper\nimport pkg.deep\n\n\ndef run():\n"
        "    return near.first() + helper() + pkg.deep.last()\n",
        "pkg/near.py": "def first():\n    return 1\n",
        "pkg/sub/__init__.py": "def helper():\n    return 2\n",
        "pkg/deep.py": "def last():\n    return 3\n",
        "other/near.py": "def first(wrong):\n    return 1\n",
    }

    brief = await a_brief(files, suspects=(("pkg/main.py", 7),))

    signatures = shown(brief, PromptPart.SKELETON)
    for line in (
        "pkg/near.py:1: def first():",
        "pkg/sub/__init__.py:1: def helper():",
        "pkg/deep.py:1: def last():",
    ):
        assert line in signatures
    assert "wrong" not in signatures


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * 10_000,
        "def f(): pass\n" * 6_000,
        "x = " + "1 + " * 50_000 + "1\n",
    ],
    ids=["assignments", "functions", "sum"],
)
async def test_a_hostile_checkout_takes_no_more_than_a_few_seconds(text: str) -> None:
    files = {**FILES, **{f"m{n}.py": text for n in range(4)}}
    started = time.process_time()

    await a_brief(files, suspects=tuple((f"m{n}.py", 3) for n in range(4)))

    assert time.process_time() - started < 3.0
