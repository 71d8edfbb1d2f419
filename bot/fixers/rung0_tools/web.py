"""Autofix tools for JavaScript, TypeScript, style sheets and Markdown."""

from bot.fixers.rung0_tools.tool import Tool

_SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte")
_STYLES = (".css", ".scss", ".sass", ".less")
_DATA = (".json", ".jsonc", ".json5", ".html", ".graphql", ".gql", ".astro")
_TEXTS = (".md", ".markdown", ".mdx")
_PRETTIER = (*_SCRIPTS, *_STYLES, *_DATA, *_TEXTS, ".yml", ".yaml", ".hbs")
_BIOME_FILES = (*_SCRIPTS, ".css", *_DATA)
_BIOME = (
    "--config-path= --vcs-enabled= --vcs-client-kind= --vcs-use-ignore-file= --vcs-root= "
    "--vcs-default-branch= --files-max-size= --files-ignore-unknown= --no-errors-on-unmatched "
    "--use-editorconfig= --indent-style= --indent-width= --line-ending= --line-width= "
    "--quote-style= --semicolons= --only= --skip= --formatter-enabled= --linter-enabled= "
    "--assist-enabled="
)
_OXLINT_PLUGINS = (
    "--disable-unicorn-plugin --disable-oxc-plugin --disable-typescript-plugin --import-plugin "
    "--react-plugin --jsdoc-plugin --jest-plugin --vitest-plugin --jsx-a11y-plugin "
    "--nextjs-plugin --react-perf-plugin --promise-plugin --node-plugin --vue-plugin"
)

WEB_TOOLS = (
    Tool(
        name="eslint",
        runs="eslint",
        suffixes=(*_SCRIPTS, *_DATA, *_TEXTS, ".yml", ".yaml"),
        fix="--fix",
        options=(
            "--config= -c= --no-config-lookup --no-eslintrc --ext= --env= --global= --parser= "
            "--parser-options= --plugin= --rule= --rulesdir= --resolve-plugins-relative-to= "
            "--ignore-path= --ignore-pattern= --no-ignore --no-inline-config --flag= "
            "--report-unused-disable-directives --no-warn-ignored"
        ),
    ),
    Tool(
        name="standard",
        runs="standard",
        suffixes=_SCRIPTS,
        fix="--fix",
        options="--env= --global= --plugin= --parser= --ext= --ignore= --no-ignore",
    ),
    Tool(
        name="oxlint",
        runs="oxlint",
        suffixes=_SCRIPTS,
        # Without options for suggestions and dangerous fixes.
        fix="--fix",
        options=(
            f"--config= -c= --tsconfig= --allow= -A= --warn= -W= --deny= -D= --ignore-path= "
            f"--ignore-pattern= --no-ignore --type-aware {_OXLINT_PLUGINS}"
        ),
    ),
    Tool(
        name="biome check",
        runs="biome check",
        suffixes=_BIOME_FILES,
        fix="check --write",
        options=_BIOME,
    ),
    Tool(
        name="biome ci",
        runs="biome ci",
        suffixes=_BIOME_FILES,
        fix="check --write",
        options=_BIOME,
    ),
    Tool(
        name="biome lint",
        runs="biome lint",
        suffixes=_BIOME_FILES,
        fix="lint --write",
        options=_BIOME,
    ),
    Tool(
        name="stylelint",
        runs="stylelint",
        suffixes=(*_STYLES, *_SCRIPTS, ".html"),
        fix="--fix",
        options=(
            "--config= -c= --config-basedir= --custom-syntax= --ignore-path= -i= --ignore-pattern= "
            "--ip= --disable-default-ignores --report-needless-disables --rd --allow-empty-input"
        ),
        statuses=frozenset({0, 2}),
    ),
    Tool(
        name="markdownlint",
        runs="markdownlint",
        suffixes=_TEXTS,
        fix="--fix",
        options=(
            "--config= -c= --configPointer= --rules= -r= --disable... --enable... --ignore= -i= "
            "--ignore-path= -p= --dot -d"
        ),
    ),
    Tool(
        name="markdownlint-cli2",
        runs="markdownlint-cli2",
        suffixes=_TEXTS,
        fix="--fix --no-globs",
        options="--config= --configPointer=",
        version="--help",
    ),
    Tool(
        name="biome format",
        runs="biome format",
        suffixes=_BIOME_FILES,
        fix="format --write",
        options=_BIOME,
        check="format",
    ),
    Tool(
        name="oxfmt",
        runs="oxfmt",
        suffixes=_PRETTIER,
        checks="--check --list-different",
        options="--config= -c= --ignore-path=",
    ),
    Tool(
        name="prettier",
        runs="prettier",
        suffixes=_PRETTIER,
        checks="--check -c --list-different -l",
        fix="--write",
        options=(
            "--config= --no-config --no-editorconfig --config-precedence= --ignore-path= --plugin= "
            "--plugin-search-dir= --parser= --print-width= --tab-width= --use-tabs --no-semi "
            "--single-quote --jsx-single-quote --quote-props= --trailing-comma= "
            "--no-bracket-spacing --bracket-same-line --arrow-parens= --prose-wrap= --end-of-line= "
            "--html-whitespace-sensitivity= --vue-indent-script-and-style "
            "--embedded-language-formatting= --single-attribute-per-line --object-wrap= "
            "--experimental-ternaries --experimental-operator-position= --ignore-unknown -u"
        ),
        check="--list-different --ignore-unknown",
    ),
)
"""In the order in which formatters run after another tool."""
