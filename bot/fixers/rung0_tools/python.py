"""Autofix tools for Python."""

from bot.fixers.rung0_tools.tool import Tool

_FILES = (".py", ".pyi")
_NOTEBOOKS = (*_FILES, ".ipynb")
_RUFF = (
    "--config= --line-length= --target-version= --exclude= --preview --no-preview --isolated "
    "--force-exclude --respect-gitignore --no-respect-gitignore"
)

PYTHON_TOOLS = (
    Tool(
        name="ruff check",
        runs="ruff check",
        suffixes=_NOTEBOOKS,
        # Explicit, because a repository's configuration may enable unsafe fixes.
        fix="check --fix --no-unsafe-fixes --no-cache",
        options=(
            f"{_RUFF} --select= --ignore= --extend-select= --extend-ignore= --extend-exclude= "
            "--per-file-ignores= --extend-per-file-ignores= --fixable= --unfixable="
        ),
    ),
    Tool(
        name="autoflake",
        runs="autoflake",
        suffixes=(".py",),
        checks="--check -c --check-diff -cd",
        fix="--in-place",
        options=(
            "--config= --imports= --exclude= --remove-all-unused-imports --expand-star-imports "
            "--remove-duplicate-keys --remove-unused-variables --remove-rhs-for-unused-variables "
            "--ignore-init-module-imports --ignore-pass-statements --ignore-pass-after-docstring"
        ),
    ),
    Tool(
        name="pyupgrade",
        runs="pyupgrade",
        suffixes=_FILES,
        options=(
            "--py3-plus --py36-plus --py37-plus --py38-plus --py39-plus --py310-plus --py311-plus "
            "--py312-plus --py313-plus --py314-plus --py315-plus --keep-percent-format --keep-mock "
            "--keep-runtime-typing"
        ),
        version="--help",
    ),
    Tool(
        name="add-trailing-comma",
        runs="add-trailing-comma",
        suffixes=_FILES,
        options="--py36-plus",
        version="--help",
    ),
    Tool(
        name="docformatter",
        runs="docformatter",
        suffixes=(".py",),
        checks="--check -c --diff -d",
        fix="--in-place",
        options=(
            "--config= --black --wrap-summaries= --wrap-descriptions= --style= --blank "
            "--pre-summary-newline --pre-summary-space --make-summary-multi-line "
            "--close-quotes-on-newline --force-wrap --non-strict --tab-width= --exclude="
        ),
        statuses=frozenset({0, 3}),
    ),
    Tool(
        name="autopep8",
        runs="autopep8",
        suffixes=(".py",),
        checks="--diff -d --exit-code",
        fix="--in-place",
        options=(
            "--global-config= --ignore-local-config --aggressive -a -aa -aaa --experimental "
            "--exclude= --select= --ignore= --max-line-length= --indent-size= --hang-closing "
            "-p= --pep8-passes="
        ),
        statuses=frozenset({0, 1, 2}),
    ),
    Tool(
        name="yapf",
        runs="yapf",
        suffixes=_FILES,
        checks="--diff -d",
        fix="--in-place",
        options="--style= --no-local-style --exclude= -e=",
    ),
    Tool(
        name="isort",
        runs="isort",
        suffixes=_FILES,
        checks="--check --check-only -c --diff",
        options=(
            "--settings-path= --settings-file= --settings= --sp= --sf= --profile= --line-length= "
            "-l= -w= --line-width= --multi-line= -m= --trailing-comma --tc --force-grid-wrap= "
            "--use-parentheses --up --ensure-newline-before-comments --project= -p= "
            "--thirdparty= -o= --src= --src-path= --skip= -s= --skip-glob= --sg= --extend-skip= "
            "--extend-skip-glob= --skip-gitignore --gitignore --filter-files --float-to-top "
            "--combine-as --ca --force-sort-within-sections --fss --force-single-line-imports -sl "
            "--sl --python-version= --py= --length-sort --ls --virtual-env= --conda-env="
        ),
        check="--check-only --quiet",
        version="--version-number",
    ),
    Tool(
        name="ruff format",
        runs="ruff format",
        suffixes=_NOTEBOOKS,
        checks="--check --diff",
        fix="format --no-cache",
        options=_RUFF,
        check="format --no-cache --check",
    ),
    Tool(
        name="black",
        runs="black",
        suffixes=_NOTEBOOKS,
        checks="--check --diff",
        options=(
            "--config= --line-length= -l= --target-version= -t= --skip-string-normalization -S "
            "--skip-magic-trailing-comma -C --preview --unstable --enable-unstable-feature= --pyi "
            "--ipynb --python-cell-magics= --skip-source-first-line -x --required-version= "
            "--exclude= --extend-exclude= --force-exclude="
        ),
        check="--check --quiet",
    ),
)
"""In the order in which formatters run after another tool."""
