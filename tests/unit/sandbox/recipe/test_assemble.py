"""The steps of a job become one recipe: what is installed, what runs before, and what fails."""

from textwrap import dedent

import pytest

from sandbox.recipe.assemble import Rebuilt, rebuild, rebuild_command
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.job import Job, ResolvedStep
from sandbox.recipe.tools.base import ToolContext
from sandbox.recipe.tools.interpret import new_context
from sandbox.types import StepKind


def context(*names: str, **contents: str) -> ToolContext:
    raw = {name.replace("__", "."): dedent(text).encode() for name, text in contents.items()}
    return new_context(CheckoutFiles(raw, {*raw, *names}, FidelityLog()), "3.11")


def job(*scripts: str | ResolvedStep) -> Job:
    steps = [
        ResolvedStep(name="", script=item) if isinstance(item, str) else item for item in scripts
    ]
    steps[-1] = steps[-1].with_(failed=True)
    return Job(workflow="ci.yml", job_id="t", name="t", steps=tuple(steps))


COMMANDS = {
    "pytest -q": "python -m pytest -q",
    "ruff check . && ruff format --check .": "ruff check . && ruff format --check .",
    "ruff check .\nmypy src\npytest": "ruff check . && mypy src && python -m pytest",
    "pytest\ncodecov": "python -m pytest",
    "coverage run -m pytest\ncoverage report": "python -m pytest",
    "cd a\npytest": "python -m pytest",
    "(cd a && pytest)\n(cd b/c && pytest -x)": "cd a && python -m pytest && cd ../b/c && python -m pytest -x",
    "A=1 pytest\nB=2 pytest -x": "A=1 python -m pytest && B=2 python -m pytest -x",
    "A=x\nmy-check $A | tee log\npytest": (
        "export A=x && my-check $A | tee log && python -m pytest"
    ),
    "A=x\nmy-check $A | tee log\nmy-other": "export A=x && my-check $A | tee log && my-other",
    "black .\ngit diff --exit-code": "black --check .",
    "ruff check --fix . && isort src && git diff --quiet": "ruff check --no-fix . && isort --check-only src",
    "P=$(tool)\necho $P | grep x\ntests/run.sh": (
        "bash -e -c 'P=$(tool)\necho $P | grep x\ntests/run.sh'"
    ),
    ". venv/bin/activate\nwhile :; do pytest -x && break; done": "while :; do pytest -x && break; done",
    "python gen.py\ngit diff --exit-code": "python gen.py && git diff --exit-code",
    "my-tool check --all": "my-tool check --all",
    "pytest || true": "python -m pytest",
    "pytest\npytest": "python -m pytest",
    "python -m unittest discover -s tests": "python -m unittest discover -s tests",
}


@pytest.mark.parametrize("script", COMMANDS)
def test_the_commands_of_the_failed_step(script: str) -> None:
    assert rebuild(job(script), context()).command == COMMANDS[script]


@pytest.mark.parametrize("earlier", ["cd / && pytest", "\n".join(f"curl {n}" for n in range(100))])
def test_what_the_failed_step_leaves_out_counts_after_earlier_steps(earlier: str) -> None:
    built = rebuild(job(earlier, "mypy\ncd / && pytest"), context())
    assert built.obstacles == ("`pytest` runs outside the checkout",)


def test_a_check_outside_the_checkout_is_an_obstacle() -> None:
    built = rebuild(
        job("mkdir /tmp/t && cp -r tests /tmp/t && cd /tmp/t && pytest tests"), context()
    )
    assert built.obstacles == ("`pytest tests` runs outside the checkout",)


def test_nothing_is_made_in_the_environment_of_a_step() -> None:
    assert rebuild(job("touch .venv/done && cp a b", "pytest"), context()).prepare == ("cp a b",)


def test_what_cannot_be_run_is_named() -> None:
    (obstacle,) = rebuild(job("coverage combine\ncoverage report"), context()).obstacles
    assert obstacle.startswith(
        "nothing of the failed step can be run here: `coverage combine`: coverage is not checked"
    )
    assert rebuild(job("python gen.py\ngit diff --exit-code"), context()).obstacles
    assert not rebuild(job("black .\ngit diff --exit-code"), context()).obstacles


def test_a_step_that_needs_a_secret_prepares_nothing() -> None:
    secret = ResolvedStep(
        name="", script="python tools/deploy.py --token", unknown=("secrets.TOKEN",)
    )
    assert rebuild(job(secret, "pytest"), context()).prepare == ()


def test_the_folder_and_the_variables_all_commands_share_are_the_recipes() -> None:
    built = rebuild(job("cd a && export X=1\npytest\npytest -x"), context())
    assert (built.command, built.folder) == ("python -m pytest && python -m pytest -x", "a")
    assert built.environment == {"X": "1"}


def test_earlier_steps_install_and_prepare_and_their_checks_are_left_out() -> None:
    built = rebuild(
        job(
            "pip install six\nruff check .",
            "python gen.py > out.py\ncp a b\npytest smoke",
            "rm -rf src",
            "pytest",
        ),
        context(),
    )
    assert built.wanted.lines == ("six",)
    assert built.prepare == ("python gen.py > out.py", "cp a b")
    assert built.command == "python -m pytest"


PREPARED = {
    "cp .env.example .env": True,
    "echo x > conf.ini": True,
    "mkdir -p build": True,
    "python setup.py build_ext --inplace": True,
    "python manage.py migrate": True,
    "python tools/gen.py": True,
    "protoc --python_out=. a.proto": True,
    "python -m grpc_tools.protoc a.proto": True,
    "tar xf there.tar.gz": True,
    "tar xf dist/nowhere.tar.gz": False,
    "rm -rf src": False,
    "cp a /etc/passwd": False,
    "sed -i '/test/d' setup.cfg": True,
    "sed -i -e /test/d setup.cfg": True,
    "sed -i s/a/b/ /etc/hosts": False,
    "python manage.py runserver": False,
    "sphinx-build docs out": False,
    "docker compose up -d": False,
    "pytest": False,
}


@pytest.mark.parametrize("script", PREPARED)
def test_what_is_run_before(script: str) -> None:
    built = rebuild(job(script, "pytest"), context("there.tar.gz"))
    assert bool(built.prepare) is PREPARED[script]


def test_preparations_are_seen_from_where_the_tests_run() -> None:
    built = rebuild(job("cd gen && A=1 python make.py", "cd sub && pytest"), context())
    assert built.prepare == ("cd ../gen && A=1 python make.py",)


def test_what_comes_before_the_check_in_the_same_step_is_run_before() -> None:
    built = rebuild(job("python gen.py\npytest"), context())
    assert (built.prepare, built.command) == (("python gen.py",), "python -m pytest")


def test_variables_of_the_step_are_passed_on_but_not_those_that_change_how_programs_start() -> None:
    step = ResolvedStep(
        name="",
        script="pytest",
        environment={"A": "1", "PATH": "/x", "LD_PRELOAD": "y", "GIT_DIR": "z"},
    )
    assert rebuild(job(step), context()).environment == {"A": "1"}
    built = rebuild(job("LD_PRELOAD=x A=2 pytest\nA=3 pytest"), context())
    assert built.command == "A=2 python -m pytest && A=3 python -m pytest"


def test_the_kind_of_a_recipe_is_that_of_its_tests() -> None:
    assert rebuild(job("ruff check .\npytest"), context()).kind is StepKind.TEST
    assert rebuild(job("black --check .\nruff check ."), context()).kind is StepKind.FORMAT
    named = ResolvedStep(name="Run the tests", script="my-tool")
    assert rebuild(job(named), context()).kind is StepKind.TEST


def test_what_only_github_knows_is_an_obstacle_when_the_check_may_need_it() -> None:
    alone = ResolvedStep(name="t", script="pytest --token ", unknown=("secrets.T",))
    assert "secrets.T" in rebuild(job(alone), context()).obstacles[0]


def test_what_earlier_steps_lack_matters_to_tests_only() -> None:
    assert rebuild(job("npm ci", "pytest"), context()).obstacles
    assert not rebuild(job("npm ci", "ruff check ."), context()).obstacles
    optional = ResolvedStep(name="", script="npm ci", continue_on_error=True)
    assert not rebuild(job(optional, "pytest"), context()).obstacles


@pytest.mark.parametrize(
    ("earlier", "check", "optional"),
    [
        ("npm ci", "pytest", True),
        ("npm ci && npm run build", "pytest", True),
        ("npm ci", "npx vitest run", False),
        ("npm ci", "npx vitest run && pytest", False),
    ],
)
def test_node_packages_of_earlier_steps_are_needed_by_node_checks_only(
    earlier: str, check: str, *, optional: bool
) -> None:
    files = {"package.json": "{}", "package-lock.json": "{}"}
    built = rebuild(job(earlier, check), context(**files))
    assert (built.node_folders, built.node_optional) == ((".",), optional)
    assert not built.obstacles


def test_a_linter_of_python_waits_for_no_node_packages() -> None:
    files = {"package.json": "{}", "package-lock.json": "{}"}
    built = rebuild(job("npm ci && npm run build", "ruff check ."), context(**files))
    assert (built.node_folders, built.prepare) == (None, ())


def test_a_step_that_is_not_taken_and_one_in_python() -> None:
    off = ResolvedStep(name="", script="pip install six", runs="no")
    assert rebuild(job(off, "pytest"), context()).wanted.lines == ()
    python = ResolvedStep(name="", script="import m\nassert m", shell="python")  # noqa: S604 (a value)
    assert rebuild(job(python), context()).command == "python -c 'import m\nassert m'"


def test_a_given_command_is_read_alike() -> None:
    ini = "[tox]\nenvlist = py\n[testenv]\ndeps = six\ncommands = pytest {posargs}\n"
    built = rebuild_command("tox -e py -- -x", context(tox__ini=ini))
    assert (built.command, built.wanted.lines) == ("python -m pytest -x", ("six",))
    assert rebuild_command("", context()) == Rebuilt()


def test_steps_are_bounded() -> None:
    built = rebuild(
        job(
            "\n".join(f"cp a b{n}" for n in range(300)),
            "\n".join(f"pytest t{n}" for n in range(300)),
        ),
        context(),
    )
    assert len(built.prepare) == 60
    assert built.command.count("pytest") == 120


def test_what_cannot_fail_the_step_is_no_check_of_it() -> None:
    assert rebuild(job("mypy . || true\npytest"), context()).command == "python -m pytest"


def test_what_is_left_beside_a_loop_is_no_check() -> None:
    loop = "for d in $(go list ./...); do go test $d > out.txt; done"
    script = f"echo mode > cover.txt\n{loop}"
    assert rebuild(job(script), context()).command == f"bash -e -c 'echo mode > cover.txt\n{loop}'"
    makefile = "test:\n\techo mode > cover.txt\n\t" + loop.replace("$", "$$") + "\n"
    built = rebuild(job("make test"), context(Makefile=makefile))
    assert built.command == f"bash -e -c '{loop}'"
    assert (built.prepare, built.obstacles) == (("echo mode > cover.txt",), ())


def test_modules_that_are_fetched_are_no_check() -> None:
    script = "# all of them\ngo get -v -t ./..."
    assert rebuild(job(script), context()).command == ""


def test_what_runs_in_the_background_is_neither_waited_for_nor_judged() -> None:
    built = rebuild(job("python app.py &\nsleep 1", "pytest"), context("app.py"))
    assert (built.prepare, built.command, built.obstacles) == ((), "python -m pytest", ())
    for server in ("node server.js", "./server --port 1"):
        built = rebuild(job(f"{server} &\nsleep 1", "pytest"), context("server.js"))
        assert built.obstacles == (
            f"`{server} &` runs in the background, and nothing is started there",
        )


def test_a_script_only_a_shell_can_follow_runs_as_it_is() -> None:
    loop = "pip install pytest\nwhile read -r f; do\n  pytest $f\ndone < files.txt"
    built = rebuild(job(loop), context("files.txt"))
    assert built.command == "bash -e -c 'while read -r f; do\n  pytest $f\ndone < files.txt'"
    assert rebuild(job("case x in x) ;; esac"), context()).command == ""
    file = context("x", ci__sh="#!/bin/sh\ncase $1 in\n unit) pytest ;;\nesac\n")
    assert rebuild(job("sh ci.sh unit"), file).command == "sh ci.sh unit"


def test_all_checks_of_a_failed_action_are_judged() -> None:
    steps = [
        ResolvedStep(name="a", script="ruff check .", failed=True, environment={"A": "1"}),
        ResolvedStep(name="b", script="python gen.py", environment={"A": "1"}),
        ResolvedStep(name="c", script="pytest", environment={"A": "2"}, working_directory="sub"),
    ]
    built = rebuild(job(*steps), context("gen.py", "sub/x"))
    assert built.prepare == ("python gen.py",)
    assert built.command == "ruff check . && cd sub && A=2 python -m pytest"
    assert (built.kind, built.environment) == (StepKind.TEST, {"A": "1"})
