"""Autofix tools for Go, Rust, C, shell, Terraform, TOML and any text."""

from bot.fixers.rung0_tools.tool import Tool

_GOFMT = Tool(
    name="gofmt",
    runs="gofmt",
    suffixes=(".go",),
    checks="-l -d",
    fix="-w",
    options="-s",
    check="-d",
    version="-h",
)
_REORDER = (
    "--application-directories= --unclassifiable-application-module= --add-import= "
    "--remove-import= --replace-import= --py3-plus --py36-plus --py37-plus --py38-plus "
    "--py39-plus --py310-plus --py311-plus --py312-plus --py313-plus --py314-plus"
)
_C = (".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".m", ".mm", ".proto", ".cu")

OTHER_TOOLS = (
    Tool(
        name="go vet",
        runs="go vet",
        suffixes=(".go",),
        fix="vet -fix",
        whole_project=True,
        drops="-json -diff -fix",
        version="version",
        statuses=frozenset({0, 1, 2}),
    ),
    Tool(
        name="go fix",
        runs="go fix",
        suffixes=(".go",),
        checks="-diff",
        fix="fix",
        whole_project=True,
        drops="-diff",
        version="version",
    ),
    _GOFMT,
    _GOFMT.with_(name="goimports", runs="goimports", options="-local= -format-only", check=""),
    _GOFMT.with_(name="gofumpt", runs="gofumpt", options="-lang= -modpath= -extra", check=""),
    Tool(
        name="clippy",
        runs="cargo clippy",
        suffixes=(".rs",),
        # The checkout has uncommitted changes, or no git at all.
        fix="clippy --fix --allow-dirty --allow-staged --allow-no-vcs",
        whole_project=True,
        drops="--fix --message-format --quiet -q",
        # 101: errors remain.
        statuses=frozenset({0, 101}),
    ),
    Tool(
        name="cargo fmt",
        runs="cargo fmt",
        suffixes=(".rs",),
        checks="--check",
        fix="fmt",
        whole_project=True,
        drops="--check -l --files-with-diff --message-format",
        check="fmt --check",
    ),
    Tool(
        name="rustfmt",
        runs="rustfmt",
        suffixes=(".rs",),
        checks="--check",
        options="--edition= --style-edition= --config= --config-path= --unstable-features",
    ),
    Tool(
        name="clang-format",
        runs="clang-format",
        suffixes=_C,
        checks="--dry-run -n",
        fix="-i",
        options=(
            "--style= -style= --fallback-style= -fallback-style= --sort-includes --assume-filename="
        ),
    ),
    Tool(
        name="shfmt",
        runs="shfmt",
        checks="--diff -d --list -l",
        fix="--write",
        options=(
            "--language-dialect= -ln= --posix -p --indent= -i= --binary-next-line -bn "
            "--case-indent -ci --space-redirects -sr --keep-padding -kp --func-next-line -fn "
            "--simplify -s"
        ),
    ),
    Tool(
        name="terraform fmt",
        runs="terraform fmt",
        suffixes=(".tf", ".tfvars", ".tftest.hcl"),
        checks="-check -diff",
        fix="fmt -list=false",
        version="version",
        statuses=frozenset({0}),
    ),
    Tool(
        name="taplo",
        runs="taplo fmt",
        suffixes=(".toml",),
        checks="--check --diff",
        fix="fmt",
        options="--config= -c= --no-auto-config --option= -o=",
    ),
    Tool(
        name="dprint",
        runs="dprint check",
        fix="fmt",
        options="--config= -c= --plugins... --config-discovery= --excludes...",
        statuses=frozenset({0}),
    ),
    Tool(
        name="mdformat",
        runs="mdformat",
        suffixes=(".md", ".markdown"),
        checks="--check",
        options="--number --wrap= --end-of-line= --exclude= --extensions= --codeformatters=",
    ),
    Tool(
        name="rumdl",
        runs="rumdl check",
        suffixes=(".md", ".markdown", ".mdx"),
        fix="check --fix --no-cache",
        options="--config= -c= --no-config --isolated --disable= -d= --enable= -e= --flavor=",
    ),
    *(
        Tool(
            name=name,
            runs=name,
            options=options,
            version="--help",
        )
        # hooks of pre-commit that print nothing but the names of the files that they rewrite
        for name, options in (
            (
                "trailing-whitespace-fixer",
                "--markdown-linebreak-ext= --chars= --no-markdown-linebreak-ext",
            ),
            ("end-of-file-fixer", ""),
            ("double-quote-string-fixer", ""),
            (
                "blacken-docs",
                "--line-length= -l= --target-version= -t= --skip-string-normalization -S --pyi",
            ),
            ("reorder-python-imports", _REORDER),
            ("file-contents-sorter", "--ignore-case --unique"),
            ("fix-byte-order-marker", ""),
            ("mixed-line-ending", "--fix= -f="),
            ("requirements-txt-fixer", ""),
            ("sort-simple-yaml", ""),
        )
    ),
    Tool(
        name="pretty-format-json",
        runs="pretty-format-json",
        fix="--autofix",
        options="--indent= --no-ensure-ascii --no-sort-keys --top-keys= --empty-object-as-null",
        version="--help",
    ),
    Tool(
        name="codespell",
        runs="codespell",
        # Only words with one known correction are changed.
        fix="--write-changes",
        options=(
            "--config= --toml= --dictionary= -D= --builtin= --builtin-names= --ignore-words= -I= "
            "--ignore-words-list= -L= --ignore-regex= --ignore-multiline-regex= "
            "--uri-ignore-words-list= --regex= -r= --exclude-file= -x= --skip= -S= --check-hidden "
            "-H --enable-colors"
        ),
        statuses=frozenset({0, 1, 64, 65}),
    ),
    Tool(
        name="typos",
        runs="typos",
        fix="--write-changes",
        options="--config= -c= --isolated --locale= --exclude= --no-unicode --force-exclude",
        statuses=frozenset({0, 2}),
    ),
)
