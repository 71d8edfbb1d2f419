"""What scripts hand to later steps."""

import pytest

from sandbox.recipe.actions.exports import read_exports
from sandbox.recipe.actions.values import Unknown

LINES: dict[str, dict[str, str | None]] = {
    'echo "A=1" >> $GITHUB_ENV': {"A": "1"},
    "echo A=1>>${GITHUB_ENV}": {"A": "1"},
    "echo 'A=$HOME' >> \"$GITHUB_ENV\"": {"A": "$HOME"},
    'echo "A=${DIR}/x y" >> "$GITHUB_ENV"': {"A": "d/x y"},
    'echo "A=$HOME/bin" >> $GITHUB_ENV': {"A": "/home/sandbox/bin"},
    'echo "A=$(date)" >> $GITHUB_ENV': {"A": None},
    "echo A=`date` >> $GITHUB_ENV": {"A": None},
    'echo "A=$OTHER" >> $GITHUB_ENV': {"A": ""},
    'echo "A=$GITHUB_SHA" >> $GITHUB_ENV': {"A": None},
    'echo "P=$P:$(pwd)/src" >> $GITHUB_ENV': {"P": ":/top/src"},
    'cd x\necho "P=$(pwd)" >> $GITHUB_ENV': {"P": None},
    'echo "P=${P}:$GITHUB_WORKSPACE/x" >> $GITHUB_ENV': {"P": ":/work/repo/x"},
    'read OTHER < f\necho "A=$OTHER" >> $GITHUB_ENV': {"A": None},
    'if x; then OTHER=1; fi\necho "A=$OTHER" >> $GITHUB_ENV': {"A": None},
    'source env.sh\necho "A=$OTHER" >> $GITHUB_ENV': {"A": None},
    'echo "A=1" | tee -a $GITHUB_ENV': {"A": "1"},
    'printf "A=1\\n" >> $GITHUB_ENV': {"A": "1"},
    'set -e\necho "A=1" >> $GITHUB_ENV && echo "B=2" >> $GITHUB_ENV\n': {"A": "1", "B": "2"},
    'V=$(echo 1)\nif x; then\n  echo "A=1" >> $GITHUB_ENV\nfi\necho B=py$(echo $DIR.e | tr -d .) >>$GITHUB_ENV\n'
    "echo C=$V >> $GITHUB_ENV": {"A": None, "B": "pyde", "C": None},
    '{\n  echo "A=1"\n  echo B=2\n} >> "$GITHUB_ENV"': {"A": "1", "B": "2"},
    '{\n  echo "A=${DIR}"\n  echo "B=${X:-1}"\n} >> "$GITHUB_ENV"': {"A": "d", "B": "1"},
    "cat >> $GITHUB_ENV <<EOF\nA=1\nB=x y\nEOF\n": {"A": "1", "B": "x y"},
    "cat <<'END' >> \"$GITHUB_ENV\"\nA=1\nEND": {"A": "1"},
    "if [ -f x ]; then\n  echo A=1 >> $GITHUB_ENV\nfi": {"A": None},
    "echo nothing >> $GITHUB_ENV": {},
    "echo A=1 >> $GITHUB_OUTPUT": {},
    "echo A=1": {},
    "": {},
}


@pytest.mark.parametrize("script", LINES)
def test_constant_lines_are_carried_and_computed_ones_are_unknown(script: str) -> None:
    found, _ = read_exports(script, {"DIR": "d", "PWD": "/top"})
    assert {
        name: None if isinstance(value, Unknown) else value for name, value in found.items()
    } == LINES[script]


def test_outputs_are_kept_apart() -> None:
    assert read_exports('echo "list=a" >> "$GITHUB_OUTPUT"', {}) == ({}, {"list": "a"})


def test_a_script_without_end_is_no_trouble() -> None:
    assert read_exports("echo GITHUB_ENV {" * 20_000, {}) == ({}, {})
    read_exports("{ echo a=" * 4_000 + "GITHUB_ENV", {})
    read_exports("{ ${" * 8_000 + "GITHUB_ENV", {})
    read_exports("{" + "${a}" * 8_000 + "GITHUB_ENV", {})
    read_exports("cat >> $GITHUB_ENV <<EOF\n" * 1_000, {})
