"""A step's script is walked as a shell would, and nothing of it is run."""

import pytest

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.shell.budget import ScriptExhausted
from sandbox.recipe.shell.walk import Walked, walk_script
from sandbox.recipe.tools.base import ReadingBudget


def walk(script: str, *names: str, **variables: str) -> Walked:
    files = CheckoutFiles({}, names, FidelityLog())
    return walk_script(script, files, ".", variables, spend=ReadingBudget().spend)


def lines(script: str, *names: str, **variables: str) -> list[str]:
    return [
        call.line() if call.folder == "." else f"{call.folder}: {call.line()}"
        for call in walk(script, *names, **variables).calls
    ]


SCRIPTS = {
    'V=3.11\ntox -e py$(echo "$V" | tr -d .)': ["tox -e py311"],
    "V=3.11\ntox -e py${V//./} && tox -e py${V/./-}": ["tox -e py311", "tox -e py3-11"],
    "tox -e py$(echo 3.11-dev | tr -d . | cut -f 1 -d '-')": ["tox -e py311"],
    "tox -e $(echo a.b.c | cut -d. -f2),$(echo a | cut -d. -f2)": ["tox -e b,a"],
    "tox -e $(echo a | cut -c 1)": ["tox -e $(echo a | cut -c 1)"],
    "tox -e py`echo 3.11 | sed 's/\\.//'`": ["tox -e py311"],
    "tox -e py$(echo 3.11 | sed 's/.//')": ["tox -e py$(echo 3.11 | sed 's/.//')"],
    "F=$(find tests -name 'a*' | sort)\npytest $F": ["pytest $(find tests -name 'a*' | sort)"],
    'V=3.12\nif [[ "$V" == "3.8" || "$V" == "3.9" ]]; then a; fi\nb': ["b"],
    'V=3.9\nif [[ "$V" == "3.8" || "$V" == "3.9" ]]; then a; fi': ["a"],
    "if [[ -f nowhere && -n x ]]; then a; else b; fi": ["b"],
    "if [[ 1 < 2 ]]; then a; fi": ["a"],
    "V=18\ncase $V in\n  16|17|18) a ;;\n  *) b ;;\nesac\nc": ["a", "c"],
    'V=arm-x\ncase "$V" in (x86*) a;; arm-* | aarch64-*) W=lib; b;; esac; c $W': ["b", "c lib"],
    "case x in y) a ;; esac; b": ["b"],
    "case $NOWHERE in y) a ;; esac; b": ["b"],
    "case x in y) a ;& x) b ;; esac; c": ["c"],
    'V=ubuntu-24\nif [[ "$V" == windows* || "$V" == mac* ]]; then a; else b; fi': ["b"],
    'V=ubuntu-24\nif [[ "$V" == ubuntu-* && "$V" != *-22 ]]; then a; else b; fi': ["a"],
    "o=(-x)\no+=(-k 'a b')\npytest ${o[@]} tests\npytest \"${o[@]}\"": [
        "pytest -x -k 'a b' tests",
        "pytest -x -k 'a b'",
    ],
    "for p in libs/*/; do (cd $p && a); done\nfor f in t/*.py; do b $f; done": [
        "libs/x: a",
        "libs/y: a",
        "b t/a.py",
    ],
    "for f in none/*; do a $f; done\nb": ["b"],
    "o=()\npytest ${o[@]} tests": ["pytest tests"],
    "cat <<EOF >> $GITHUB_ENV\nA=1\nEOF\na": ["a"],
    "pip install -U pip\npip install -r a.txt\n": ["pip install -U pip", "pip install -r a.txt"],
    "a && b; c || d": ["a", "b", "c"],
    "a \\\n  --long \\\n  b\n": ["a --long b"],
    "# only\na # behind\n": ["a"],
    "set -eo pipefail\npytest | tee log.txt\n": ["pytest"],
    "pytest 2>&1 > log || exit 1": ["pytest"],
    "pytest || true": ["pytest"],
    "cd sub && a\nb\n": ["sub: a", "sub: b"],
    "cd sub\ncd ..\na": ["a"],
    "(cd sub && a); b": ["sub: a", "b"],
    "pushd x; a; popd; b": ["x: a", "b"],
    "cd $GITHUB_WORKSPACE/x && a": ["x: a"],
    "cd /tmp && a": [],
    "{ a; b; }": ["a", "b"],
    "if [ -f there.txt ]; then a; else b; fi": ["a"],
    "if [ -f nowhere.txt ]; then a; fi\nb": ["b"],
    "if [ ! -d src ]; then a; elif [ -d src ]; then b; else c; fi": ["b"],
    'if [[ "$RUNNER_OS" == "Windows" ]]; then a; else b; fi': ["b"],
    'if [ "$UNKNOWN" = "x" ]; then a; else b; fi': ["b"],
    'if [ -n "$UNKNOWN" ]; then a; else b; fi\n[ -z "${OTHER:-}" ] && c': ["b", "c"],
    'if [ "$GITHUB_REF" = "x" ]; then a; else b; fi': ["a"],
    "read A < f\nif [ -z $A ]; then a; else b; fi": ["a"],
    'while :; do A=x; done\nif [ -z "$A" ]; then a; else b; fi': ["a"],
    'source env.sh\nif [ -n "$A" ]; then a; else b; fi': ["a"],
    '. .venv/bin/activate\nif [ -n "$A" ]; then a; else b; fi': ["b"],
    'A=x\nunset A\nif [ -n "$A" ]; then a; else b; fi': ["b"],
    "$SUDO pip install x\ncommand pytest $ARGS": ["pip install x", "pytest $ARGS"],
    "ROOT=$(pwd)\ncd x\na $ROOT/y\ncd $ROOT/z\nb --dir=$PWD": ["x: a ../y", "z: b --dir=."],
    "cd `git rev-parse --show-toplevel`/x\na": ["x: a"],
    "cd /work/repo/x && a && cd $GITHUB_WORKSPACE && b": ["x: a", "b"],
    "cd $RUNNER_TEMP && a\ncd /work/repo && b": ["b"],
    "ln -s $PWD/a b/a": ["ln -s /work/repo/a b/a"],
    "test -f there.txt && a": ["a"],
    "[ -f nowhere.txt ] || a": ["a"],
    "command -v x || pip install x": ["pip install x"],
    "for d in a b; do pytest $d; done": ["pytest a", "pytest b"],
    "for d in $(ls -d */); do echo $d; done\nx": ["x"],
    "while read l; do a; done < f\nx": ["x"],
    "case $1 in a) b;; esac\nx": ["x"],
    "f() { a; }\nx": ["x"],
    "A='1 2'\npytest $A \"$A\"": ["pytest 1 2 '1 2'"],
    "pytest ${A:-tests} ${B-unit}": ["pytest tests unit"],
    'pytest "$UNKNOWN"': ['pytest "$UNKNOWN"'],
    "pytest $(ls)": ["pytest $(ls)"],
    "pip install '.[test]' \"x>=1\" y[z]": ["pip install '.[test]' 'x>=1' y[z]"],
    "cat a.txt | xargs -n 1 pip install": ["pip install -r a.txt"],
    "echo y | tool --ask": ["tool --ask"],
    "cat <<EOF > f.py\nit's\nEOF\na": ["cat", "a"],
    "echo hello; true; ls -la; source .venv/bin/activate; a": ["a"],
    "a\r\nb\r\n": ["a", "b"],
    "a 'b\nc\nd": ["c", "d"],
    "! a\nb": ["a", "b"],
    "a & b": ["a", "b"],
    "\\pytest": ["pytest"],
    "": [],
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_programs_a_script_calls(script: str) -> None:
    assert (
        lines(
            script,
            "there.txt",
            "src/m.py",
            "libs/x/setup.py",
            "libs/y/setup.py",
            "libs/a.py",
            "t/a.py",
        )
        == SCRIPTS[script]
    )


def test_variables_go_with_the_calls_that_see_them() -> None:
    calls = walk("export A=1\nB=2 x\nC=3\ny $C\nexport C\nz").calls
    assert [call.environment for call in calls] == [
        {"A": "1", "B": "2"},
        {"A": "1"},
        {"A": "1", "C": "3"},
    ]
    assert calls[1].line() == "y 3"


def test_lines_for_later_steps_are_remembered() -> None:
    walked = walk(
        'echo "A=b c" >> $GITHUB_ENV\necho "D=$UNKNOWN" >> "$GITHUB_ENV"\necho x >> $GITHUB_PATH\ny $A'
    )
    assert walked.environment == {"A": "b c", "D": ""}
    assert [call.line() for call in walked.calls] == ["y b c"]


PATHS = {
    "PYTHONPATH=$PYTHONPATH:$(pwd)/src a": ":/work/repo/src",
    "export PYTHONPATH=${PYTHONPATH}:$PWD/src\na": ":/work/repo/src",
    "cd x\nexport PYTHONPATH=`pwd`:$PYTHONPATH\na": "/work/repo/x:",
    "export PYTHONPATH\nPYTHONPATH=$GITHUB_WORKSPACE/lib\nexport PYTHONPATH\na": "/work/repo/lib",
    "PYTHONPATH=$HOME/lib a": None,
}


@pytest.mark.parametrize("script", PATHS)
def test_a_path_in_the_checkout_is_known(script: str) -> None:
    (call,) = walk(script).calls
    assert call.environment.get("PYTHONPATH") == PATHS[script]


def test_a_pipeline_has_the_variables_that_it_names() -> None:
    call, other = walk("A=x\nB=y\ncheck -k $A | tee log\ncheck -k $A").calls
    assert call.environment == {"A": "x"}
    assert other.environment == {}


def test_the_default_of_an_unknown_variable_stays() -> None:
    (call,) = walk("while :; do A=x; done\npytest --a=${A:-none} $A").calls
    assert call.line() == "pytest --a=${A:-none} $A"


def test_what_is_written_to_a_file_is_kept_whole() -> None:
    (call,) = walk("echo '[x]' > conf.ini").calls
    assert not call.whole
    assert call.text == "echo '[x]' > conf.ini"
    assert not walk("pytest | tee log").calls[0].whole
    assert walk("pytest 2>/dev/null").calls[0].whole


def test_a_failure_that_does_not_count_is_told() -> None:
    assert [call.tolerated for call in walk("a || true\nb").calls] == [True, False]


def test_a_variable_only_a_shell_knows_is_not_handed_on_as_its_text() -> None:
    walked = walk("A=$(date) a\nexport B=`id`\nb\nC=1 c")
    assert [call.environment for call in walked.calls] == [{}, {}, {"C": "1"}]
    assert [call.unknown for call in walked.calls] == [("A",), ("B",), ("B",)]


@pytest.mark.parametrize(
    "script",
    [
        "ls *.py | xargs pylint",
        "echo a b | while read f; do pylint $f; done",
        "printf a | sort | (read f; pylint $f)",
    ],
)
def test_a_pipeline_that_runs_other_programs_runs_as_written(script: str) -> None:
    (call,) = walk(script).calls
    assert not call.whole
    assert call.text == script


NESTED = "for a in 1 2 3 4 5 6 7 8 9; do " * 8 + "x" + "; done" * 8
ROUNDS = "for a in " + "x " * 101 + "; do a; done"
LINES = ("a 'b\n" + "a\n" * 500, "a 'b\n" + "#" * 70_000 + "\na\n")
WORDS = "a" + " b" * 2000


@pytest.mark.parametrize("script", ["a\n" * 401, NESTED, ROUNDS, *LINES, WORDS])
def test_no_part_of_a_long_script_is_followed(script: str) -> None:
    with pytest.raises(ScriptExhausted):
        walk(script)


def test_a_script_may_be_as_long_as_the_limits() -> None:
    assert len(walk("a\n" * 400).calls) == 400
    assert len(walk("for a in " + "x " * 100 + "; do a; done").calls) == 100
    assert walk("(" * 500 + "a" + ")" * 500).calls == ()


def test_variables_that_double_do_not_grow_without_end() -> None:
    script = "A=xxxxxxxxxx\n" + "A=$A$A\n" * 60 + "x $A\n"
    assert sum(len(call.line()) for call in walk(script).calls) < 100_000


LONG = " ".join(["a"] * 900)


@pytest.mark.parametrize(
    "script",
    [
        "pytest " + "$L " * 1200,
        ("pytest " + "$L " * 10 + "\n") * 100,
        f"A=({LONG})\npytest " + '"${A[@]}" ' * 350,
        "for i in " + "$L " * 400 + "; do pytest; done",
    ],
)
def test_lines_that_name_a_long_list_very_often_are_not_followed(script: str) -> None:
    with pytest.raises(ScriptExhausted):
        walk(script, L=LONG)


def test_a_long_value_is_not_repeated_before_it_is_refused() -> None:
    assert lines("X=" + "$L" * 900 + "\npytest", L="a" * 4000) == ["pytest"]
