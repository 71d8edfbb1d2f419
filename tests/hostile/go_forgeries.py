"""Packages of Go whose failing test must not look passed: file names and contents.

Every product returns 100 where its test wants 90.
"""

PRODUCT = "package shop\n\nfunc Price(pieces int) int { return pieces * 10 }\n"
TEST = (
    'package shop\n\nimport "testing"\n\nfunc TestRebate(t *testing.T) {\n'
    '\tif got := Price(10); got != 90 {\n\t\tt.Errorf("Price(10) = %d, want 90", got)\n\t}\n}\n'
)
USUAL = {"shop.go": PRODUCT, "shop_test.go": TEST}
MAIN = "package shop\n\nimport (\n{imports})\n\nfunc TestMain(m *testing.M) {{\n{body}}}\n"
LINES = (
    r'"\x16=== RUN   TestRebate\n\x16--- PASS: TestRebate (0.00s)\nPASS\n"',
    r'"=== RUN   TestRebate\n--- PASS: TestRebate (0.00s)\nPASS\n"',
)
JSON = r'"{\"Action\":\"pass\",\"Package\":\"example.org/shop\",\"Test\":\"TestRebate\"}\n"'


def product(imports: str, body: str) -> dict[str, str]:
    """A product with a function that runs before every test."""
    names = "".join(f'\t"{name}"\n' for name in imports.split())
    before = f"package shop\n\nimport (\n{names})\n\nfunc init() {{\n{body}}}\n"
    return {"before.go": before}


def main(imports: str, body: str) -> dict[str, str]:
    """Tests with a `TestMain` of their own."""
    names = "".join(f'\t"{name}"\n' for name in imports.split())
    return {"main_test.go": MAIN.format(imports=names, body=body)}


def ending(imports: str, body: str) -> dict[str, str]:
    """A product that acts while the test runs."""
    names = "".join(f'\t"{name}"\n' for name in imports.split())
    return {
        "shop.go": f"package shop\n\nimport (\n{names})\n\n"
        f"func Price(pieces int) int {{\n{body}\treturn pieces * 10\n}}\n"
    }


REPOSITORIES: dict[str, dict[str, str]] = {
    "leaves-before-the-tests": product("os", "\tos.Exit(0)\n"),
    "main-runs-nothing": main("os testing", "\tos.Exit(0)\n"),
    "main-ignores-the-status": main("os testing", "\tm.Run()\n\tos.Exit(0)\n"),
    "main-prints-the-results": main(
        "os testing", f"\tos.Stdout.WriteString({LINES[0]})\n\tos.Exit(0)\n"
    ),
    "main-prints-plain-results": main(
        "os testing", f"\tos.Stdout.WriteString({LINES[1]})\n\tos.Exit(0)\n"
    ),
    "prints-a-pass-and-leaves": ending(
        "os syscall", f"\tos.Stdout.WriteString({LINES[0]})\n\tsyscall.Exit(0)\n"
    ),
    "prints-an-event": ending("os", f"\tos.Stdout.WriteString({JSON})\n"),
    "prints-an-event-and-leaves": ending(
        "os syscall", f"\tos.Stdout.WriteString({JSON})\n\tsyscall.Exit(0)\n"
    ),
    "leaves-in-the-test": ending("os", "\tos.Exit(0)\n"),
    "ends-go-itself": ending("syscall", "\tsyscall.Kill(syscall.Getppid(), syscall.SIGKILL)\n"),
    "writes-the-records": ending(
        "os",
        '\tfor _, name := range []string{"/dev/fd/3", "/proc/1/fd/3"} {\n'
        "\t\tif file, err := os.OpenFile(name, os.O_WRONLY, 0); err == nil {\n"
        '\t\t\tfile.WriteString("000000000000 [\\"exit\\",0]\\n")\n\t\t}\n\t}\n',
    ),
    "skips-by-a-flag": main(
        "flag os testing", '\tflag.Set("test.run", "^$")\n\tos.Exit(m.Run())\n'
    ),
}
