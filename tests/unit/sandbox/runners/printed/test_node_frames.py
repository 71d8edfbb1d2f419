"""Frames of Node.js in files of SvelteKit, Next.js and Remix, as the runners print them."""

import pytest

from sandbox.runners.findings import CheckoutPaths
from sandbox.runners.printed.node_frames import read_frame
from tests.unit.sandbox.runners.printed.test_printed import PLACE, SAMPLES, sample

ROUTES = ("src/routes/(app)/[id]", "src/my page", "src/@slot", "app/$id")


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    ("runner", "name", "file", "line"),
    [
        ("jest", "page.test.js::page > adds", "sum.js", 1),
        ("vitest", "vi.spec.mjs::adds", "vi.spec.mjs", 3),
        ("vitest", "vi.spec.mjs::throws", "sum.mjs", 1),
    ],
)
def test_jest_and_vitest_name_files_of_routes(
    runner: str, name: str, file: str, line: int, route: str
) -> None:
    found = sample(f"{runner}_routes")[f"{route}/{name}"]
    assert (found.file, found.line) == (f"{route}/{file}", line)


@pytest.mark.parametrize(
    ("runner", "files", "routes"),
    [
        ("mocha", {"sum.js", "page.test.js", "sum.mjs", "m.spec.mjs"}, ROUTES),
        ("node_spec", {"sum.js", "page.test.js"}, (ROUTES[0], ROUTES[1], ROUTES[3])),
        ("node_tap", {"sum.js", "page.test.js"}, ROUTES[:2]),
    ],
)
def test_mocha_and_node_name_files_of_routes(
    runner: str, files: set[str], routes: tuple[str, ...]
) -> None:
    lines = (SAMPLES / f"{runner}_routes.txt").read_text(encoding="utf-8").splitlines()
    frames = {frame[0] for line in lines if (frame := read_frame(line, PLACE)) is not None}
    assert frames == {f"{route}/{file}" for route in routes for file in files}
    failures = sample(f"{runner}_routes").values()
    assert all(one.file in frames and one.line == 1 for one in failures)
    assert failures


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("      at check (file:///work/repo/a%20b/(g)/%5Bid%5D/x.mjs:1:56)", "a b/(g)/[id]/x.mjs"),
        ("    at /work/repo/src/my (app)/x.ts:1:2", "src/my (app)/x.ts"),
        ("    at async Object.<anonymous> (/work/repo/x.cts:1:2)", "x.cts"),
        ("    at Foo.bar [as baz] (/work/repo/src/$id.tsx:1:2) {", "src/$id.tsx"),
        (" \u276f Module.add src/routes/(a)/+page.svelte:1:5", "src/routes/(a)/+page.svelte"),
        (" \u276f x.test.ts:1:5", "x.test.ts"),
        ("      at a (/work/repo/(one)/(two)../../x.js:1:2)", "(one)/(two)/x.js"),
        ("        TestContext.<anonymous> (/work/repo/(g)/my x.js:1:2)", "(g)/my x.js"),
        ("    at Test.run (node:internal/test_runner/test:796:25)", None),
        ("    at new Promise (<anonymous>)", None),
        ("    see the notes at src/x.js:1:2 please", None),
        ("at /work/repo/x.js:1:2", None),
    ],
)
def test_a_frame_names_its_file(line: str, expected: str | None) -> None:
    assert read_frame(line, PLACE) == (None if expected is None else (expected, 1))


@pytest.mark.parametrize("char", ["(", " ", "a", "/", "a (", "file://", "../", ") "])
def test_a_long_line_is_no_long_work(char: str) -> None:
    for line in (f"    at {char * 20_000}", f" \u276f {char * 20_000}.js", f"    {char * 20_000}"):
        assert read_frame(line, CheckoutPaths()) is None
