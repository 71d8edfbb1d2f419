"""Jobs of Go: the version, the commands, and the modules that a checkout does not contain."""

import time

import pytest

from sandbox.errors import SetupFailed
from sandbox.recipe.command import classify_command
from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import MOST_BYTES, CheckoutFiles
from sandbox.recipe.given import check_given
from sandbox.recipe.go_modules import go_files, needed_modules
from sandbox.recipe.go_versions import go_of_project, read_go
from sandbox.recipe.programs import IMAGE_PROGRAMS, RUNTIMES, settle
from sandbox.recipe.relevant import relevant_files
from sandbox.types import GoPart, JobHints, Recipe, StepKind

JOB = """on: push
jobs:
  go:
    runs-on: ubuntu-latest
    strategy: {matrix: {go: ["1.22", "1.23.x"]}}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-go@v5
        with: {INPUTS}
      - run: go mod download
      - run: EARLIER
      - name: Check
        run: SCRIPT
"""
MODULE = "module example.org/m\n\ngo 1.21\n"
REQUIRES = """module example.org/m

go 1.22.3

toolchain go1.23.4

require (
\tgithub.com/a/b v1.2.3
\tgithub.com/c/d v1.0.0 // indirect
)

require example.org/own v0.0.0

replace example.org/own => ./own
"""


def plan(
    script: str,
    files: dict[str, str],
    inputs: str = 'go-version: "${{ matrix.go }}"',
    earlier: str = "go version",
) -> Recipe:
    job = JOB.replace("INPUTS", inputs).replace("SCRIPT", script).replace("EARLIER", earlier)
    texts = {".github/workflows/ci.yml": job, **files}
    contents = {name: texts[name].encode() for name in relevant_files(texts)}
    hints = JobHints(job_name="go (1.23.x)", step_name="Check")
    return plan_recipe(hints, texts.keys(), contents)


@pytest.mark.parametrize(
    ("script", "command", "kind"),
    [
        ("go test -race ./...", "go test -race ./...", StepKind.TEST),
        ("go vet ./... && go test ./...", "go vet ./... && go test ./...", StepKind.TEST),
        ("make test", "go vet ./... && go test -v ./...", StepKind.TEST),
        ("gotestsum --format short -- -short ./a", "go test -short ./a", StepKind.TEST),
        ("gotestsum --junitfile x.xml ./a -short", "go test ./a -short", StepKind.TEST),
        ("gotestsum --packages=./... -- -race", "go test -race ./...", StepKind.TEST),
        ("gotestsum --packages ./a -- -v -args -x", "go test -v ./a -args -x", StepKind.TEST),
        ("gotestsum -f dots", "go test ./...", StepKind.TEST),
        ("richgo test -v ./...", "go test -v ./...", StepKind.TEST),
        ("go build ./...", "go build ./...", StepKind.TYPES),
        ("go vet ./...", "go vet ./...", StepKind.LINT),
        ("go fmt ./... && git diff --exit-code", 'test -z "$(gofmt -l .)"', StepKind.FORMAT),
        ('test -z "$(gofmt -s -l .)"', 'test -z "$(gofmt -s -l .)"', StepKind.FORMAT),
        ("gofmt -s -d . | tee diff", 'test -z "$(gofmt -l -s .)"', StepKind.FORMAT),
        ("go generate ./...", "go generate ./...", StepKind.OTHER),
        ("go run ./cmd/check", "go run ./cmd/check", StepKind.OTHER),
    ],
)
def test_a_step_runs_as_in_the_job(script: str, command: str, kind: StepKind) -> None:
    makefile = "test: lint\n\tgo test -v ./...\nlint:\n\tgo vet ./...\n"
    recipe = plan(script, {"go.mod": MODULE, "Makefile": makefile})
    assert (recipe.command, recipe.kind, recipe.obstacles) == (command, kind, ())
    assert recipe.go is not None
    assert recipe.go.version == "1.23"
    assert recipe.python.requirements == ()


def test_variables_and_folders_of_a_step_are_kept() -> None:
    files = {"go.mod": MODULE, "sub/go.mod": "module example.org/m/sub\n\ngo 1.24.1\n"}
    recipe = plan("cd sub && GOFLAGS=-mod=mod CGO_ENABLED=0 go test ./...", files)
    assert recipe.working_directory == "sub"
    assert recipe.environment == {"GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}
    # The module needs a newer Go than the job's, which would fetch it.
    assert recipe.go == GoPart(version="1.24.1")


def test_without_a_workflow_the_tests_of_the_module_run() -> None:
    recipe = plan_recipe(JobHints(), ["go.mod", "a_test.go"], {"go.mod": MODULE.encode()})
    assert (recipe.command, recipe.go) == ("go test ./...", GoPart(version="1.21"))


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("1.22", "1.22"),
        ("1.22.x", "1.22"),
        ("1.22.3", "1.22.3"),
        ("go1.22.3", "1.22.3"),
        ("~1.22.3", "1.22"),
        ("1.23.0-rc.1", "1.23.0"),
        ("^1.20", "1"),
        (">=1.21 <1.25", "1"),
        ("1.x", "1"),
        ("stable", "1"),
        ("$GO", None),
    ],
)
def test_a_requested_version_is_read(words: str, version: str | None) -> None:
    assert read_go(words) == version


@pytest.mark.parametrize(
    ("files", "asked", "version"),
    [
        ({"go.mod": REQUIRES}, None, "1.23.4"),
        ({"go.mod": REQUIRES}, "1.22", "1.23.4"),
        ({"go.mod": REQUIRES}, "1.23", "1.23"),
        ({"go.mod": REQUIRES}, "1.23.2", "1.23.4"),
        ({"go.mod": REQUIRES}, "1", "1"),
        ({"go.mod": MODULE, "go.work": "go 1.24\n\nuse ./a\n"}, None, "1.24"),
        ({"go.mod": "module m\n", ".go-version": "1.22.1\n"}, None, "1.22.1"),
        ({"go.mod": "module m\n", ".tool-versions": "golang 1.22.1\n"}, None, "1.22.1"),
        ({}, None, None),
    ],
)
def test_a_module_that_needs_a_newer_go_gets_it(
    files: dict[str, str], asked: str | None, version: str | None
) -> None:
    contents = {name: text.encode() for name, text in files.items()}
    assert go_of_project(CheckoutFiles(contents, None, FidelityLog()), ".", asked) == version


def test_the_version_may_be_in_a_file() -> None:
    recipe = plan("go test ./...", {"go.mod": REQUIRES}, "go-version-file: go.mod")
    assert recipe.go is not None
    assert recipe.go.version == "1.23.4"


@pytest.mark.parametrize(
    ("script", "files", "folders"),
    [
        ("go test ./...", {"go.mod": REQUIRES}, (".",)),
        ("gofmt -l .", {"go.mod": REQUIRES}, ()),
        ("go test ./...", {"go.mod": REQUIRES, "vendor/modules.txt": ""}, ()),
        ("go test ./...", {"go.mod": MODULE}, ()),
        (
            "cd a && go test . && cd ../b && go test .",
            {"a/go.mod": REQUIRES, "b/go.mod": MODULE},
            ("a",),
        ),
        (
            "go test ./a/... ./b/...",
            {
                "go.work": "go 1.22\n\nuse (\n\t./a\n\t./b\n)\n",
                "a/go.mod": REQUIRES,
                "b/go.mod": MODULE,
            },
            (".",),
        ),
        (
            "go test ./a/... ./own/...",
            {
                "go.work": "go 1.22\nuse ./a\nuse ./own\n",
                "a/go.mod": "module example.org/a\nrequire example.org/own v1.0.0\n",
                "own/go.mod": "module example.org/own\n",
            },
            (),
        ),
    ],
)
def test_modules_are_downloaded_where_the_checkout_lacks_them(
    script: str, files: dict[str, str], folders: tuple[str, ...]
) -> None:
    recipe = plan(script, files)
    assert recipe.go is not None
    assert recipe.go.modules == folders


def test_an_earlier_step_elsewhere_does_not_hide_the_module() -> None:
    files = {"go.mod": REQUIRES, "tools/go.mod": MODULE}
    recipe = plan("go test ./...", files, earlier="cd tools && cp a b")
    assert recipe.prepare == ("cd tools && cp a b",)
    assert recipe.go == GoPart(version="1.23", modules=(".",))


def test_a_comment_behind_a_bracket_hides_no_module() -> None:
    text = (
        "require ( // direct\n\texample.org/a v1.0.0\n)\n\nrequire (\n\texample.org/b v1.0.0\n)\n"
    )
    files = CheckoutFiles({"go.mod": text.encode()}, None, FidelityLog())
    assert needed_modules(files, ".") == ("example.org/a", "example.org/b")


@pytest.mark.parametrize("line", ["x ( //\n", "\n", "channel\n", "require (\n"])
def test_a_hostile_file_takes_bounded_time(line: str) -> None:
    text = line * (MOST_BYTES // len(line))
    started = time.process_time()
    for script in ("go test ./...", "cargo test"):
        plan(script, {"go.mod": text, "rust-toolchain": text})
    assert time.process_time() - started < 10


def test_the_files_of_modules_are_part_of_the_environment() -> None:
    texts = {
        "go.mod": REQUIRES,
        "go.sum": "x",
        "own/go.mod": MODULE,
        "vendor/a/go.mod": "",
        "a.go": "",
    }
    contents = {name: text.encode() for name, text in texts.items()}
    part = Recipe(command="go test", parts=(GoPart(modules=(".",)),))
    assert set(go_files(part, texts, contents)) == {"go/go.mod", "go/go.sum", "go/own/go.mod"}
    assert go_files(Recipe(command="go test", parts=(GoPart(),)), texts, contents) == {}


def test_programs_of_other_modules_are_named_unless_the_sandbox_has_them() -> None:
    recipe = plan("golangci-lint run", {"go.mod": MODULE})
    assert (recipe.kind, recipe.command) == (StepKind.LINT, "golangci-lint run")
    runtime = IMAGE_PROGRAMS["golangci-lint"]
    assert runtime in RUNTIMES
    assert runtime.is_needed(recipe)
    (obstacle,) = settle(recipe, runtime, present=False).obstacles
    assert obstacle.startswith("`golangci-lint run` needs golangci-lint, which the sandbox does")
    assert settle(recipe, runtime, present=True).obstacles == ()


def test_a_recipe_of_a_bundle_may_only_contain_what_is_planned() -> None:
    for part in (GoPart(version="latest"), GoPart(version="1.22", modules=("../x",))):
        with pytest.raises(SetupFailed):
            check_given(Recipe(command="go test", parts=(part,)))


def test_go_in_a_sentence_is_no_go() -> None:
    assert classify_command("echo go test") is StepKind.OTHER
    recipe = plan("python -m pytest", {"go.mod": MODULE, "tests/test_a.py": ""})
    assert recipe.go is None
