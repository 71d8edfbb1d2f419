"""A reverted fix stays away: any rung, any branch, after restarts, and however it is written."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from bot.clock import SystemClock
from bot.domain.mission import MissionContext, Outcome
from bot.domain.patch import Candidate, Rung, RungNote
from bot.domain.policy import RepositoryPolicy
from bot.domain.publication import Publication
from bot.fixers.rung1_search.engine import SearchFixer
from bot.lessons.reflect import reflect
from bot.lessons.stored import StoredLessons
from bot.mission.loop import MissionPorts, run_mission
from bot.ports import Fixer
from bot.publish.progress import SilentProgress
from bot.queue.memory import MemoryCheckpoint
from bot.store.opening import open_database
from sandbox.backends.docker_container import DockerBackend
from sandbox.changes import canonical_form
from sandbox.spec import SandboxSpec
from sandbox.types import ChangeAction, Checkout, FileChange, FolderSource
from sandbox.workspace import Sandboxes
from tests.builders import a_candidate, a_feedback, a_request
from tests.fakes.scripted_fixer import ScriptedFixer

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

PATH = "fares.py"
BROKEN = "    return price - price * share // 100"
SOURCE = f"def raised(price, share):\n{BROKEN}\n"
TESTS = (
    "from fares import raised\n\n\ndef test_raised():\n    assert raised(200, 10) == 220\n\n\n"
    "def test_nothing():\n    assert raised(200, 0) == 200\n"
)
ELSEWHERE = f"import os\n\n\ndef other():\n    return os.sep\n\n\n{SOURCE}"
"""The same function below other code, as on another branch."""
REWRITTEN = (
    "def raised(price, share):\n    part = price * share // 100\n    if part:\n"
    "        price = price - part\n    return price\n"
)
"""The same mistake in other words: no line of the refused change fits."""
REWRITINGS = (
    "    return price * share // 100 + price",
    "    return price + share * price // 100",
    "    return sum((price, price * share // 100))",
    "    return price - -(price * share // 100)",
    "    if share:\n        price += price * share // 100\n    return price",
)
ANOTHER = "    return price + 20 if share else price"


class Repository:
    """A folder with a mistake, and missions on it with one database."""

    def __init__(self, backend: DockerBackend, folder: Path) -> None:
        self._sandboxes = Sandboxes(SandboxSpec(), backend, folder / "data")
        self._folder = folder

    async def mission(
        self, name: str, source: str, *fixers: Fixer, tests: str = TESTS
    ) -> MissionContext:
        """Run a mission with lessons of a database that is opened anew, as after a restart."""
        tree = self._folder / name
        tree.mkdir()
        (tree / PATH).write_text(source)
        (tree / "test_fares.py").write_text(tests)
        with closing(open_database(f"sqlite:///{self._folder / 'engine.sqlite'}")) as database:
            lessons = StoredLessons(database)
            ports = MissionPorts(
                open_workspace=self._sandboxes.open_workspace,
                fixers=fixers or (SearchFixer(lessons),),
                recall=lessons,
                checkpoint=MemoryCheckpoint(through_json=True),
                progress=SilentProgress(),
                clock=SystemClock(),
            )
            context = await run_mission(
                a_request(mission_id=name),
                RepositoryPolicy(),
                Checkout(source=FolderSource(path=str(tree))),
                ports,
            )
            _, lesson = reflect(context, Publication(mission_id=name), ())
            await lessons.remember(lesson)
            if not fixers:
                reverted = {"mission_id": name, "pull_request": 0, "fate": "reverted"}
                await lessons.feed_back(a_feedback(merged=False, **reverted))
        return context


def proposing(rung: Rung, bodies: Sequence[str], broken: str = BROKEN) -> ScriptedFixer:
    def propose(files: dict[str, str], _: MissionContext) -> list[Candidate | RungNote]:
        return [
            a_candidate(
                id=f"c-{number}",
                rung=rung,
                changes=(
                    FileChange(
                        action=ChangeAction.REPLACE,
                        path=PATH,
                        content=files[PATH].replace(broken, body),
                    ),
                ),
            )
            for number, body in enumerate(bodies)
        ]

    return ScriptedFixer(propose, rung=rung)


def search_and(other: ScriptedFixer) -> tuple[Fixer, ...]:
    """Return a ladder whose search finds nothing, so that candidates may run here."""
    return (ScriptedFixer(lambda _, __: [RungNote(reason="nothing fits")]), other)


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


async def test_no_rewriting_of_a_reverted_fix_is_offered(
    backend: DockerBackend, tmp_path: Path
) -> None:
    forms = {canonical_form(SOURCE.replace(BROKEN, body)) for body in REWRITINGS}
    assert len(forms) == len(REWRITINGS), "each of them is written differently"
    repository = Repository(backend, tmp_path)
    first = await repository.mission("first", SOURCE)
    assert first.fix is not None, first.reason
    assert first.fix[0].calls

    moved = proposing(Rung.SEARCH, REWRITINGS)
    elsewhere = await repository.mission("elsewhere", ELSEWHERE, moved)
    assert (elsewhere.outcome, elsewhere.fix) == (Outcome.NO_FIX, None), elsewhere.reason
    assert "5 candidates equal to, or behaving like, a change that was refused" in elsewhere.reason

    reworded = proposing(Rung.SEARCH, ("price + part",), broken="price - part")
    rewritten = await repository.mission("rewritten", REWRITTEN, reworded)
    assert rewritten.fix is None, rewritten.reason
    assert "1 candidate equal to, or behaving like," in rewritten.reason

    above = search_and(proposing(Rung.MODEL, (*REWRITINGS, ANOTHER)))
    model = await repository.mission("model", SOURCE, *above)
    assert model.fix is not None, model.reason
    assert model.fix[0].id == f"c-{len(REWRITINGS)}"


async def test_a_refused_fix_of_another_function_of_the_file_blocks_nothing(
    backend: DockerBackend, tmp_path: Path
) -> None:
    repository = Repository(backend, tmp_path)
    first = await repository.mission("first", SOURCE)
    assert first.fix is not None, first.reason
    # A person made the change that was refused, and the next function has a mistake.
    broken = "    return price + share"
    mended = "    return price - share"
    source = (
        f"{SOURCE.replace('price - price', 'price + price')}\n\ndef cut(price, share):\n{broken}\n"
    )
    tests = (
        "from fares import cut, raised\n\n\ndef test_cut():\n    assert cut(200, 10) == 190\n\n\n"
        "def test_raised():\n    assert raised(200, 10) == 220\n"
    )
    fixer = proposing(Rung.SEARCH, (mended,), broken=broken)
    second = await repository.mission("second", source, fixer, tests=tests)
    assert second.outcome is Outcome.FIXED, second.reason
