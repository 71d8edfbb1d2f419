"""Missions on repositories of Go in a real sandbox: Go is fetched, tests and formatters run."""

from pathlib import Path

import pytest

from bot.domain.account import ModelLimits
from bot.domain.mission import Outcome
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.ports.sandboxes import Fixer
from sandbox.backends.docker_container import DockerBackend
from sandbox.errors import SetupFailed
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints, TestStatus
from sandbox.workspace import Sandboxes
from tests.fakes.scripted_fixer import KnownLessons
from tests.fakes.scripted_mind import ScriptedMind
from tests.integration import module_proxy
from tests.integration.red_commit import run_on_red_commit

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

GREEN = {
    "go.mod": "module example.org/shop\n\ngo 1.27\n",
    "shop.go": (
        "package shop\n\n// Price returns the price of some pieces.\n"
        "func Price(pieces int) int {\n\treturn pieces * 9\n}\n"
    ),
    "shop_test.go": (
        'package shop\n\nimport "testing"\n\nfunc TestPrice(t *testing.T) {\n'
        '\tt.Run("ten", func(t *testing.T) {\n'
        "\t\tif got := Price(10); got != 90 {\n"
        '\t\t\tt.Errorf("Price(10) = %d, want 90", got)\n\t\t}\n\t})\n}\n\n'
        "func TestNone(t *testing.T) {\n\tif Price(0) != 0 {\n\t\tt.Fatal(Price(0))\n\t}\n}\n"
    ),
}
WRONG = {"shop.go": GREEN["shop.go"].replace("* 9", "* 10")}
REPAIR = (
    "shop.go\n<<<<<<< SEARCH\n\treturn pieces * 10\n=======\n\treturn pieces * 9\n>>>>>>> REPLACE\n"
)


@pytest.fixture(scope="module")
def docker(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


async def test_a_failing_test_is_reproduced_and_no_tool_repairs_it(
    docker: DockerBackend, tmp_path: Path
) -> None:
    fixers: tuple[Fixer, ...] = (*tool_fixers(), SearchFixer(KnownLessons()))
    context = await run_on_red_commit(
        docker, tmp_path, (GREEN, WRONG), JobHints(command="go test ./..."), fixers
    )
    assert context.outcome is Outcome.NO_FIX, context.reason
    report = context.test_results
    assert report is not None
    assert report.runner == "go test"
    assert report.outcomes == {
        "example.org/shop::TestPrice/ten": TestStatus.FAIL,
        "example.org/shop::TestPrice": TestStatus.FAIL,
        "example.org/shop::TestNone": TestStatus.PASS,
    }
    assert report.failures[0].file == "shop_test.go"


async def test_a_models_change_that_passes_is_offered_to_a_person(
    docker: DockerBackend, tmp_path: Path
) -> None:
    mind = ScriptedMind({"fix": REPAIR})
    fixer = ModelFixer(mind, SearchTrials(KnownLessons()), ModelLimits(samples=1, rounds=1))
    context = await run_on_red_commit(
        docker, tmp_path, (GREEN, WRONG), JobHints(command="go test ./..."), (fixer,)
    )
    assert context.outcome is Outcome.NEEDS_HUMAN, context.reason
    assert "makes every test pass" in context.reason
    assert "+\treturn pieces * 9" in context.choices[0].diff


SAYS = (
    'package shop\n\nimport "fmt"\n\n// Say prints some lines.\nfunc Say(lines []string) {\n'
    "\tfor i := range lines {\n\t\tfmt.Println(lines[i])\n\t}\n}\n"
)
FAULTS = {
    'test -z "$(gofmt -l .)" && go vet ./...': (SAYS.replace("\t\tfmt", "    fmt"), SAYS),
    "go vet ./...": (SAYS.replace("ln(", "f("), SAYS.replace("ln(", 'f("%s", ')),
    "go fix -diff ./...": (SAYS.replace("range lines", "0; i < len(lines); i++"), SAYS),
}
"""The text before and after the repair, by command."""


@pytest.mark.parametrize("command", FAULTS)
async def test_gos_own_tools_repair_what_they_find(
    docker: DockerBackend, tmp_path: Path, command: str
) -> None:
    before, after = FAULTS[command]
    context = await run_on_red_commit(
        docker, tmp_path, (GREEN, {"say.go": before}), JobHints(command=command), tool_fixers()
    )
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.fix is not None
    assert [change.content for change in context.fix[0].changes] == [after]


async def test_gofmt_lays_out_a_test_file(docker: DockerBackend, tmp_path: Path) -> None:
    imports = 'import (\n\t"os"\n\t"testing"\n)\n'
    after = GREEN["shop_test.go"].replace('import "testing"\n', imports)
    after = after.replace("Price(0))", "Price(0), os.Args)")
    moved = 'import (\n\t"testing"\n\t"os"\n)\n'
    before = after.replace(imports, moved).replace("; got != 90", ";got!=90")
    command = 'test -z "$(gofmt -l .)" && go vet ./...'
    context = await run_on_red_commit(
        docker,
        tmp_path,
        (GREEN, {"shop_test.go": before}),
        JobHints(command=command),
        tool_fixers(),
    )
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.fix is not None
    assert [(c.path, c.content) for c in context.fix[0].changes] == [("shop_test.go", after)]


async def test_modules_come_from_the_operators_proxy_and_only_while_the_set_up_fetches(
    docker_ready: None, tmp_path: Path
) -> None:
    requires = f"\nrequire {module_proxy.NAME} {module_proxy.VERSION}\n"
    uses = GREEN["shop.go"].replace(
        "package shop\n", f'package shop\n\nimport "{module_proxy.NAME}"\n'
    )
    files = {
        **GREEN,
        "go.mod": GREEN["go.mod"] + requires,
        "go.sum": module_proxy.sums(),
        "shop.go": uses.replace("* 9", "* rebates.Percent / 10"),
    }
    (tmp_path / "repo").mkdir()
    for name, text in files.items():
        (tmp_path / "repo" / name).write_text(text)
    checkout = Checkout(source=FolderSource(path=str(tmp_path / "repo")))
    with module_proxy.serve_module(tmp_path / "proxy") as address:
        spec = SandboxSpec(go_proxy=address, pool=0)
        sandboxes = Sandboxes(spec, DockerBackend(spec), tmp_path / "data")
        async with sandboxes.open_workspace(checkout) as workspace:
            facts, report = await workspace.facts(), await workspace.run_tests()
    assert report.success, report.raw_output
    assert facts.lock_hash != ""
    assert address.removeprefix("http://") in facts.egress.hosts

    # The proxy is gone, and another module is wanted.
    (tmp_path / "repo/go.mod").write_text(files["go.mod"].replace("v1.2.0", "v1.3.0"))
    async with sandboxes.open_workspace(checkout) as workspace:
        with pytest.raises(SetupFailed, match=r"`example\.org/rebates`"):
            await workspace.facts()
