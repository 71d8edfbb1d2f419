"""Jobs of Rust run in an image that has cargo; in others the missing part is named."""

import re

import pytest

from sandbox.recipe.detect import plan_recipe
from sandbox.recipe.programs import NODE, RUST, settle
from sandbox.types import JobHints, Recipe, StepKind

JOB = """on: push
jobs:
  rust:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: dtolnay/rust-toolchain@1.80
      - run: rustup component add clippy
      - run: cargo fetch
      - name: Check
        run: SCRIPT
"""


def plan(script: str, **files: str) -> Recipe:
    texts = {".github/workflows/ci.yml": JOB.replace("SCRIPT", script), "Cargo.toml": "", **files}
    contents = {name: text.encode() for name, text in texts.items()}
    hints = JobHints(job_name="rust", step_name="Check")
    return plan_recipe(hints, texts.keys(), contents)


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ("cargo test --workspace", StepKind.TEST),
        ("cargo +stable test", StepKind.TEST),
        ("cargo clippy -- -D warnings", StepKind.LINT),
        ("cargo fmt --check", StepKind.FORMAT),
        ("cargo +nightly fmt --check", StepKind.FORMAT),
        ("cargo check", StepKind.TYPES),
        ("cargo llvm-cov --all-features", StepKind.TEST),
        ("cargo hack --no-dev-deps check --depth 2", StepKind.TYPES),
        ("cargo +nightly miri test --lib", StepKind.TEST),
        ("cargo install --locked --path .", StepKind.OTHER),
    ],
)
def test_a_step_runs_where_the_image_has_cargo(script: str, kind: StepKind) -> None:
    recipe = plan(script)
    assert (recipe.command, recipe.kind) == (re.sub(r" \+\w+", "", script), kind)
    assert RUST.is_needed(recipe)
    assert not NODE.is_needed(recipe)
    assert settle(recipe, RUST, present=True).obstacles == ()


def test_without_cargo_the_setting_is_named() -> None:
    recipe = settle(plan("cargo test"), RUST, present=False)
    (obstacle,) = recipe.obstacles
    assert obstacle.startswith("`cargo test` needs Rust, which the sandbox does not have; ")
    assert "sandbox.image" in obstacle
    assert "the sandbox has no Rust" in [entry.reason for entry in recipe.fidelity]


@pytest.mark.parametrize(
    ("name", "text"),
    [("rust-toolchain.toml", '[toolchain]\nchannel = "1.80.1"\n'), ("rust-toolchain", "1.80.1\n")],
)
def test_the_requested_rust_is_noted(name: str, text: str) -> None:
    recipe = plan("cargo test", **{name: text})
    reasons = {entry.step: entry.reason for entry in recipe.fidelity}
    assert reasons[name] == "Rust 1.80.1 is requested; the image's own is used"
    assert reasons["dtolnay/rust-toolchain@1.80"] == "the image's own Rust is used"


def test_nothing_is_fetched() -> None:
    assert plan("cargo fetch && cargo test").command == "cargo test"
