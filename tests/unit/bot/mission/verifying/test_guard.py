"""The tamper guard from outside: what a candidate tries, and that nothing of it ever runs."""

import pytest

from bot.domain.patch import Rung
from bot.domain.policy import RepositoryPolicy
from bot.mission.verifying.verify import verify_fix
from sandbox.types import ChangeAction, FileChange
from tests.builders import a_change
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.scripted_workspace import a_run
from tests.unit.bot.mission.verifying.test_verify import mission, verified
from tests.unit.bot.mission.world import BROKEN, CHECKOUT, MENDED, PATH, a_fix, a_world, outcomes

pytestmark = pytest.mark.anyio

TAMPERED = {
    "a test": a_change("tests/test_math.py", "def test_add():\n    pass\n"),
    "a new test file": FileChange(
        action=ChangeAction.CREATE, path="tests/test_more.py", content="def test_x(): pass\n"
    ),
    "a deleted test": FileChange(action=ChangeAction.DELETE, path="tests/test_math.py"),
    "a moved test": FileChange(
        action=ChangeAction.RENAME, path="tests/test_math.py", content="old_math.py"
    ),
    "a snapshot": a_change("tests/__snapshots__/page.ambr", "new\n"),
    "conftest.py": a_change("conftest.py", "collect_ignore = ['tests']\n"),
    "a nested conftest.py": a_change("src/pkg/conftest.py", "import pytest\n"),
    "a workflow": a_change(".github/workflows/ci.yml", "on: push\n"),
    "pytest.ini": a_change("pytest.ini", "[pytest]\naddopts = -k nothing\n"),
    "tox.ini": a_change("tox.ini", "[pytest]\naddopts = -k nothing\n"),
    "pyproject.toml": a_change(
        "pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-k nothing'\n"
    ),
    "setup.cfg": a_change("setup.cfg", "[tool:pytest]\naddopts = -k nothing\n"),
    "ruff.toml": a_change("ruff.toml", "ignore = ['ALL']\n"),
    "mypy.ini": a_change("mypy.ini", "[mypy]\nignore_errors = True\n"),
    "tsconfig.json": a_change("tsconfig.json", "{}\n"),
    "eslint": a_change(".eslintrc.json", "{}\n"),
    "a lock file": a_change("uv.lock", "version = 1\n"),
    "requirements": a_change("requirements.txt", "evil\n"),
    "sitecustomize": a_change("sitecustomize.py", "import os\n"),
    "noqa": a_change(PATH, MENDED + "import os  # noqa: F401\n"),
    "type: ignore": a_change(PATH, MENDED + "x: int = 'a'  # type: ignore[assignment]\n"),
    "eslint-disable": a_change("web/app.js", "// eslint-disable-next-line\nf()\n"),
    "skip": a_change(PATH, "import pytest\n\n\n" + MENDED + "\n\npytest.skip('no')\n"),
    "skip mark": a_change(PATH, MENDED + "\n\nmark = pytest.mark.skip\n"),
    "xfail": a_change(PATH, MENDED + "\n\nmark = pytest.mark.xfail\n"),
    "a deleted assert": a_change(PATH, MENDED),
    "except: pass": a_change(PATH, MENDED + "\n\ntry:\n    add(1, 2)\nexcept:\n    pass\n"),
    "except Exception: pass": a_change(
        PATH, MENDED + "\n\ntry:\n    add(1, 2)\nexcept Exception:\n    pass\n"
    ),
    "suppress": a_change(
        PATH, MENDED + "\n\nwith contextlib.suppress(Exception):\n    add(1, 2)\n"
    ),
    "exit": a_change(PATH, MENDED + "import os\nos._exit(0)\n"),
    "asks whether it is tested": a_change(
        PATH, MENDED + "import os\nX = 'PYTEST_CURRENT_TEST' in os.environ\n"
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
@pytest.mark.parametrize("rung", [Rung.TOOLS, Rung.SEARCH])
async def test_tampering_is_refused_before_anything_runs(what: str, rung: Rung) -> None:
    source = (
        "assert True, 'checked while it is imported'\n" + BROKEN
        if what == "a deleted assert"
        else BROKEN
    )
    world = a_world(source)
    for path in (
        "conftest.py",
        ".github/workflows/ci.yml",
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "web/app.js",
    ):
        world.files[path] = "\n"
    honest = a_change(PATH, source.replace("a - b", "a + b", 1))
    changes = (TAMPERED[what],) if TAMPERED[what].path == PATH else (honest, TAMPERED[what])
    found = await verified(world, a_fix("", rung=rung, changes=changes))
    assert not found.green
    assert not found.partial
    assert found.refusals, found.reason
    assert not world.runs


async def test_the_honest_part_of_it_alone_is_accepted() -> None:
    assert (await verified(a_world(), a_fix(MENDED))).green


@pytest.mark.parametrize(
    "policy", [RepositoryPolicy(paths_allowed=("docs",)), RepositoryPolicy(paths_protected=(PATH,))]
)
async def test_a_file_that_the_policy_keeps_from_us_is_refused_before_anything_runs(
    policy: RepositoryPolicy,
) -> None:
    world = a_world()
    context = mission(a_run(outcomes(BROKEN))).with_(policy=policy)
    found = await verify_fix(
        a_fix(MENDED), context, CHECKOUT, world.open_workspace, clock=FixedClock(step=0.5)
    )
    assert not found.green
    assert PATH in found.refusals[0]
    assert not world.runs
