"""Whatever stands in a repository's files, a plan is made or refused, in bounded time and without another error."""

import json
import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.errors import SetupFailed
from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.editable import editable_files
from sandbox.recipe.tools.base import substitute
from sandbox.types import JobHints, Recipe
from tests.tool_reading import Read

FILES = (
    "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Makefile", "justfile", "Pipfile", "uv.lock",
    "Pipfile.lock", "package.json", ".pre-commit-config.yaml", "requirements.txt", "hatch.toml", "tox.toml", "run.sh",
)  # fmt: skip
CALLS = (
    "tox", "nox", "hatch run x", "make", "just", "pipenv install", "uv sync", "npm test", "pre-commit run -a",
    "pip install -r requirements.txt", "poetry install", "pdm install", "bash run.sh", "hatch test", "uv run x",
)  # fmt: skip
PIECES = (
    "[tox]", "[testenv]", "[testenv:a]", "envlist = a{1,2}", "commands =", "deps = {[testenv]deps}", "{posargs:", "}",
    "[tool.tox]", "[project]", 'name = "m"', "[tool.hatch.envs.default]", "import nox", "@nox.session", "def t(session):",
    "    session.run('pytest', *x)", "a: b", "\tpytest $(X)", "X = $(X)", "repos:", "- repo: local", "{", "[", '"', "'",
    "-r requirements.txt", "-e .", "$(", "`", "${", "if [", "then", "fi", "for x in", "do", "done", "\\", "\0", "&&", "|",
    "<<EOF", "(", ")", "[[package]]", "=", "é", "\n", " ", "\t", "[dependency-groups]", "a = [{include-group = 'a'}]",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("\n".join) | st.text(max_size=200)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(FILES), TEXTS, max_size=6), st.sampled_from(CALLS), TEXTS)
def test_no_file_and_no_script_brings_a_reader_down(
    contents: dict[str, str], call: str, script: str
) -> None:
    Read(call, contents)
    Read(script, contents)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(FILES), TEXTS, max_size=6), TEXTS)
def test_a_plan_is_made_or_refused(contents: dict[str, str], command: str) -> None:
    raw = {name: text.encode("utf-8", "replace") for name, text in contents.items()}
    for hints in (JobHints(), JobHints(command=command)):
        try:
            recipe = plan_recipe(hints, {*raw, "test_a.py"}, raw)
        except SetupFailed:
            continue
        editable_files(recipe, set(raw), raw)


N = 3000
TOX_KEYS = (
    "commands",
    "commands_pre",
    "deps",
    "set_env",
    "base_python",
    "change_dir",
    "extras",
    "package",
    "runner",
    "labels",
)
BOMBS = {
    "tox factors": ({"tox.ini": "[tox]\nenvlist = " + "{a,b,c,d}-" * 40 + "x\n[testenv]\ncommands = pytest\n"}, "tox"),
    "tox references": (
        {"tox.ini": "[tox]\nenvlist=a\n" + "".join(f"[s{n}]\nv = {{[s{n + 1}]v}}{{[s{n + 1}]v}}\n" for n in range(200))
         + "[testenv]\ncommands = {[s0]v}\n"}, "tox"),
    "ini blanks": ({"tox.ini": "[tox]\na" + " " * 60_000 + "b\n"}, "tox"),
    "toml numbers": ({"tox.toml": "a = 0x" + "f" * 4000, "hatch.toml": "[envs.default.env-vars]\na = 0x" + "f" * 4000, "pyproject.toml": "[project]\nname = 'm'\n"
                      "[project.urls]\na = 0x" + "f" * 4000}, "tox; hatch run a; uv sync"),
    "python numbers": ({"noxfile.py": "import nox\n@nox.session\ndef t(session):\n    x[0x" + "f" * 4000 + "] = session.run('a', 0x" + "f" * 4000 + ")\n"}, "nox"),
    "tox braces": ({"tox.ini": "[tox]\nenvlist=a\n[testenv]\ncommands = " + "{posargs:" * N + "\n"}, "tox"),
    "tox open braces": ({"tox.ini": "[tox]\nenvlist=a,b,c\n[testenv]\n" + "".join(f"{key} = " + "{" * 19_000 + "\n" for key in TOX_KEYS)}, "tox\n" * 10),
    "tox conditions": ({"tox.ini": "[tox]\nenvlist=a,b,c\n[s]\nv =\n" + " {x,x,x,x,x}{x,x,x,x,x}{x,x,x,x,x}{x,x,x,x,x}: a\n" * 400
                        + "[testenv]\n" + "".join(f"{key} = " + "{[s]v}" * 200 + "\n" for key in TOX_KEYS)}, "tox\n" * 10),
    "tox pythons": ({"tox.toml": "[gh.python]\n'3.11' = ['a" + " " * 400_000 + "b']\n[env.a]\nb='c'\n"}, "tox"),
    "make doubling": ({"Makefile": "A0 = aaaaaaaaaa\n" + "".join(f"A{n + 1} = $(A{n})$(A{n})\n" for n in range(60))
                      + "test:\n\techo $(A60) > f\n"}, "make"),
    "make references": ({"Makefile": "A = " + "x" * 7000 + "\ntest:\n\techo " + "$A" * 200_000 + "\n"}, "make test"),
    "just arguments": ({"justfile": "test *args:\n    x " + "{{args}}" * 50_000 + "\n"}, "just test " + " ".join(["y" * 3000] * 10)),
    "script arguments": ({"a.sh": "$@ " * 150_000}, "./a.sh " + " ".join(["y" * 3000] * 10)),
    "make targets": ({"Makefile": "".join(f"t{n}: t{n + 1} t{n + 2} t{n + 3}\n\tpytest\n" for n in range(N))}, "make t0"),
    "setup constants": (
        {"setup.py": "".join(f"{a} = [{f'{b},' * 2000}]\n" for a, b in ("ab", "bc", "cd", "de"))
         + "e = ['x']\nsetup(install_requires=a, extras_require={'y': a})\n"}, "pip install -e ."),
    "make conditions": ({"Makefile": "include a.mk\n" * 39 + "test:\n\tpytest\n", "a.mk": "ifndef A\n" * 5000}, "make test"),
    "make stems": ({"Makefile": "A = " + "z% " * 1300 + "\nz%:\n\tx\n" + "%: $(A)\n" * 100 + "\tpytest\n"}, "make " + "a" * 4000),
    "folders of a workspace": ({"package.json": json.dumps({"workspaces": [f"{'**/*/' * 12}**/x{n}" for n in range(100)]}), "package-lock.json": "{}"}
                               | {f"a/b/c/d/e{n}/f/package.json": "{}" for n in range(190)}, "turbo run test\n" * 60),
    "make condition": ({"Makefile": "ifeq" + " " * 250 + "''x''\nendif\ntest:\n\tpytest\n"}, "make test"),
    "just blanks": ({"justfile": "test:\n    echo {{" + " " * 100_000 + "\n    pytest\n"}, "just test"),
    "make blanks": ({"Makefile": "X = " + " " * 300_000 + "y\ntest:\n\tpytest\n"}, "make test"),
    "just words": ({"justfile": "a" + " b" * N + "\n" + "a" * 900 + " =" * 50 + ":\n"}, "just"),
    "hatch matrix": ({"pyproject.toml": "[[tool.hatch.envs.a.matrix]]\n" + "".join(f"v{n} = {[str(i) for i in range(40)]}\n" for n in range(6))},
                     "hatch run a:x"),
    "nox chains": ({"noxfile.py": "import nox\nx" + ".a" * 900 + " = 1\n@nox" + ".a" * 900 + "\n@nox.session\ndef t(session):\n"
                   "    if x" + ".a" * 900 + ":\n        pass\n    x" + ".a" * 900 + "['y'] = z" + ".a" * 900 + "()\n    session.run('pytest', y" + ".a" * 900 + "())\n"},
                   "nox"),
    "nox lists": ({"noxfile.py": "import nox\n@nox.session\ndef t(session):\n    a = ['x']\n"
                   + "".join(f"    {b} = [{f'{a},' * 200}]\n" for a, b in ("ab", "bc", "cd", "de")) + "    session.run('pytest', *e, e, env={'A': e})\n"}, "nox"),
    "nox types": ({"noxfile.py": "import nox\n@nox.session(name=[1], tags=5, python=3)\n@nox.parametrize(5, [1])\ndef t(session):\n    session.run('pytest')\n"}, "nox"),
    "nox shared lists": ({"noxfile.py": "import nox\n@nox.session\ndef t(session):\n    a = ['x']\n    a1 = ['x']\n"
                          + "".join(f"    {b} = [{f'{a},' * 200}]\n    {b}1 = [{f'{a}1,' * 200}]\n" for a, b in ("ab", "bc", "cd", "de"))
                          + "    if e == e1 or e in [e1]:\n        pass\n    session.run('pytest', *nox.project.dependency_groups(1, e))\n"}, "nox"),
    "nox loops": ({"noxfile.py": "import nox\n@nox.session\ndef t(session):\n    for a in [" + "1," * 20 + "]:\n        for b in [" + "1," * 20 + "]:\n            ["
                   + "a," * 100_000 + "].x()\n"}, "nox"),
    "nox calls": ({"noxfile.py": "import nox\nA = [" + "1," * 900 + "]\n" + "".join(f"@nox.session\ndef t{n}(session):\n    for a in A:\n        for b in A:\n            c = A + A\n"
                                                                                for n in range(190))}, "nox -k t\n" * 300),
    "hatch arguments": ({"hatch.toml": "[envs.default.scripts]\n" + "".join(f"a{n} = 'a{n + 1} " + "{args}" * 600 + "'\n" for n in range(5)) + "a5 = 'b {args}'\n"},
                        "hatch run a0 " + "x" * 3000),
    "hatch environments": ({"hatch.toml": "".join(f"[envs.e{n}]\nmatrix = [{{a = {[str(i) for i in range(15)]}, b = {[str(i) for i in range(15)]}}}]\n" for n in range(1500))},
                           "hatch run a\n" * 100),
    "hatch scripts": ({"hatch.toml": "[envs.default.scripts]\n" + "".join(f"a{n} = [{', '.join([repr(f'a{n + 1}')] * 10)}]\n" for n in range(6)) + "a6 = ['- coverage x']\n"},
                      " && ".join(["hatch run a0"] * 20)),
    "nox nesting": ({"noxfile.py": "import nox\n@nox.session\ndef t(session):\n    x = " + "[" * 80 + "]" * 80 + "\n"}, "nox"),
    "shell starters": ({}, "command " * 1900 + "pytest"),
    "conda starters": ({}, "conda run " * 900 + "pytest"),
    "shell variables": ({}, "while a; do " + "".join(f"a{n}=1;" for n in range(5_000)) + " done\n"
                        + "export a1 a2\n" + "x $a1 | y\n" * 400),
    "python flags": ({}, "python" + " -b" * 900 + " -Im pytest"),
    "shell nesting": ({}, "( " * N),
    "shell quotes": ({}, "a '" * N),
    "shell expansions": ({}, "$(" * N),
    "long word": ({}, "a" * 60_000 + "="),
    "toml nesting": ({"pyproject.toml": "a = " + "[" * 50_000}, "uv sync"),
    "json nesting": ({"package.json": "[" * 50_000}, "npm test"),
    "yaml aliases": ({".pre-commit-config.yaml": "a: &a [x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(500))}, "pre-commit run"),
    "yaml merges": ({".pre-commit-config.yaml": "a0: &a0 {x: 1}\n" + "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(60)) + "repos: []\n"},
                    "pre-commit run"),
    "requirements": ({"requirements.txt": "a" + "-a" * 200 + " @ " + "x" * 500 + "\n" + "-e " + "a/" * 5000}, "pip install -r requirements.txt"),
    "many requirements": ({f"requirements{n}.txt": "".join(f"a{n}x{i}\n" for i in range(2000)) for n in range(40)}
                          | {"requirements.txt": "".join(f"-r requirements{n}.txt\n" for n in range(40)) + "-r requirements0.txt\n" * 1500},
                          "pip install -r requirements.txt\n" * 50),
    "requirements of blanks": ({"requirements.txt": ("a" + " " * 500 + "b\n") * 1900}, "pip install -r requirements.txt\n" * 5),
    "large project": ({"pyproject.toml": "[project]\nname = 'm'\n[project.optional-dependencies]\n" + "".join(f"a{n} = {[f'x{i}' for i in range(2000)]}\n" for n in range(20))},
                      "uv sync\n" * 10),
    "workspace sources": ({"pyproject.toml": "[project]\nname = 'm'\n[tool.uv.sources]\n" + "".join(f"a{n} = [{'{workspace=true},' * 1900}]\n" for n in range(10))}
                          | {f"p{n}/pyproject.toml": "" for n in range(190)}, "uv sync\n" * 20),
    "poetry versions": ({"pyproject.toml": "[tool.poetry.dependencies]\na = '" + "1." * 100_000 + "-'\n"}, "poetry install"),
    "lock markers": ({"uv.lock": '[[package]]\nname = "a"\nversion = "1"\nresolution-markers = [\n' + '"a"\n' * 240_000, "pyproject.toml": "[project]\nname = 'm'\n"},
                     "uv sync"),
    "lock lines": ({"uv.lock": "x\n" * 500_000, "pyproject.toml": "[project]\nname = 'm'\n"}, "uv sync\n" * 200),
    "lock": ({"uv.lock": '[[package]]\nname = "a"\nversion = "1"\n' * 20_000, "pyproject.toml": '[project]\nname="m"\n'}, "uv sync"),
    "scripts that call each other": ({"a.sh": "./b.sh\n" * 200, "b.sh": "./a.sh\n" * 200}, "./a.sh"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_hostile_file_takes_bounded_time(name: str) -> None:
    contents, call = BOMBS[name]
    started = time.process_time()
    read = Read(call, contents)
    assert time.process_time() - started < 20
    assert len(read.commands) <= 2000


def plan_step(script: str, **contents: str) -> Recipe:
    job = {"runs-on": "ubuntu-latest", "steps": [{"name": "check", "run": script}]}
    workflow = json.dumps({"on": "push", "jobs": {"check": job}})
    raw = {name: text.encode() for name, text in contents.items()}
    raw[".github/workflows/ci.yml"] = workflow.encode()
    return plan_recipe(JobHints(job_name="check", step_name="check"), raw.keys(), raw)


def test_a_text_that_repeats_its_arguments_stays_short() -> None:
    filled = substitute(re.compile("a"), lambda _: "b" * 10_000, "a" * 10_000)
    assert filled == "b" * 70_000


def test_a_script_that_expands_to_too_much_is_an_obstacle() -> None:
    with pytest.raises(SetupFailed, match="more commands or text than are read here"):
        plan_step("L=(" + "a " * 900 + ")\npytest " + '"${L[@]}" ' * 350)


@pytest.mark.slow
def test_many_commands_and_requirements_take_bounded_time() -> None:
    files = {f"requirements{n}.txt": "".join(f"a{n}x{i}\n" for i in range(2000)) for n in range(8)}
    install = " ".join(f"-r {name}" for name in files)
    options = "--cov --timeout=3 --reruns 3 --html=x --json-report --ds=x --benchmark-x"
    tests = "".join(f"pytest -n {n} {options}\n" for n in range(100))
    started = time.process_time()
    recipe = plan_step(f"pip install {install}\n{tests}", **files)
    assert time.process_time() - started < 20, "a look-up for each tool would take minutes"
    assert "pytest-xdist" in recipe.python.requirements


@pytest.mark.slow
def test_a_long_word_of_a_command_takes_bounded_time() -> None:
    script = "flake8 'a" + " " * 60_000 + "b'"
    started = time.process_time()
    recipe = plan_step(script)
    assert time.process_time() - started < 1.5, "quadratic work would take three seconds"
    assert recipe.command == script
