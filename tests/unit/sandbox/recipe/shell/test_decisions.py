"""What fails by the shell's own logic runs as written; other conditions are followed."""

import pytest

from sandbox.recipe.assemble import Rebuilt, rebuild
from tests.unit.sandbox.recipe.test_assemble import context, job

MAKEFILE = """\
check:
\t@diff=$$(gofmt -d .); if [ -n "$$diff" ]; then echo "$$diff"; exit 1; fi
\tgo vet ./...
loop:
\t@for d in $$(ls); do (cd $$d && go test ./...) || exit 1; done
"""


def built(*scripts: str) -> Rebuilt:
    return rebuild(job(*scripts), context(Makefile=MAKEFILE))


RUN_AS_WRITTEN = {
    'if [ -n "$(my-fmt -l .)" ]; then\n echo bad\n exit 1\nfi': 'test -z "$(my-fmt -l .)"',
    'if [ -n "$(gofmt -l .)" ]; then gofmt -d .; exit 1; fi': 'test -z "$(gofmt -l .)"',
    "if [[ $(x) == y ]]; then exit 1; fi": "bash -e -c 'if [[ $(x) == y ]]; then exit 1; fi'",
    'if [ "$(x)" = y ]; then echo ok; else exit 1; fi': (
        "bash -e -c 'if [ \"$(x)\" = y ]; then echo ok; else exit 1; fi'"
    ),
    'A=1\nX="$(tool $A)"\nif [ "$X" != y ]; then exit 1; fi': (
        'export A=1 && bash -e -c \'X="$(tool $A)"\nif [ "$X" != y ]; then exit 1; fi\''
    ),
    'test -z "$(tool x)"': 'test -z "$(tool x)"',
    '[ -z "$(tool x)" ] || exit 1': "bash -e -c '[ -z \"$(tool x)\" ] || exit 1'",
    "if grep -r TODO src; then exit 1; fi": "bash -e -c 'if grep -r TODO src; then exit 1; fi'",
    "grep -r TODO src && exit 1": "bash -e -c 'grep -r TODO src && exit 1'",
    "for d in $(ls); do pytest $d; done": "bash -e -c 'for d in $(ls); do pytest $d; done'",
    "f() { pytest $1; }\nf a": "bash -e -c 'f() { pytest $1; }\nf a'",
    "if ! my-tool; then exit 1; fi": "my-tool",
}


@pytest.mark.parametrize("script", RUN_AS_WRITTEN)
def test_what_only_a_shell_decides_is_run_beside_a_known_check(script: str) -> None:
    found = built(f"{script}\nruff check .")
    assert found.command.removeprefix("export A=1 && ") == (
        f"{RUN_AS_WRITTEN[script].removeprefix('export A=1 && ')} && ruff check ."
    )
    assert found.obstacles == ()


@pytest.mark.parametrize(
    "script",
    [
        'if [ "$TOKEN" = "" ]; then exit 1; fi',
        'if [ -n "$(tool)" ]; then echo note; fi',
        "if command -v foo; then foo; fi",
        "if which foo; then foo; fi",
        "f() { echo $1; }\nf a",
        "for w in $(ls dist); do pip install $w; done",
        "while ! nc -z localhost 5432; do sleep 1; done",
        "! grep -r TODO src",
        "my-tool || other",
        "test -n x",
    ],
)
def test_what_fails_no_step_is_left_out(script: str) -> None:
    found = built(f"{script}\npytest")
    assert (found.command, found.obstacles) == ("python -m pytest", ())


def test_a_condition_with_a_check_is_followed() -> None:
    assert built("if ! pytest -x; then exit 1; fi").command == "python -m pytest -x"
    assert built('if [ "$(x)" ]; then pytest; else exit 1; fi').command == "python -m pytest"


def test_a_negated_command_counts_at_the_end_only() -> None:
    assert built("ruff check .\n! grep -r TODO src").command.endswith("&& ! grep -r TODO src")


def test_lines_of_a_makefile_run_as_written() -> None:
    found = built("make check")
    assert found.command.startswith('bash -e -c \'diff="$(gofmt -d .)"\nif [ -n')
    assert found.command.endswith("&& go vet ./...")
    loop = built("make loop")
    assert loop.command.startswith("bash -e -c 'for d in $(ls); do")
    assert loop.obstacles == ()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('if [ "$(curl x)" != y ]; then exit 1; fi', "depends on what it fetches"),
        ('read X < f\nif [ "$(tool $X)" ]; then exit 1; fi', "only a shell knows"),
        ('go generate ./...\nif [ -n "$(git diff)" ]; then exit 1; fi', "no history"),
        ('go generate ./...\ntest -z "$(git status --porcelain)"', "no history"),
        ("go mod tidy\ngit diff --exit-code go.mod", "no history"),
    ],
)
def test_what_cannot_be_decided_here_is_refused_with_words(script: str, words: str) -> None:
    assert words in "; ".join(built(f"{script}").obstacles)
    assert built(script, "pytest").obstacles == ()
