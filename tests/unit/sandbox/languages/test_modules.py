"""Which files of a checkout an import means."""

import json
import time
from collections.abc import Mapping

import pytest

from sandbox.languages.modules import CheckoutModules, imported_files, settings_for
from sandbox.languages.outline import Import

WEB = {
    "src/a.ts": "",
    "src/b.tsx": "",
    "src/lib/index.ts": "",
    "src/lib/deep.mts": "",
    "src/old.jsx": "",
    "src/data.json": "",
    "shared/money.ts": "",
    "packages/ui/src/button.ts": "",
    "packages/core/package.json": "",
    "packages/core/src/index.ts": "",
    "packages/core/testing.ts": "",
    "tsconfig.json": """{
        // comments and a comma at the end are usual: "https://example.com"
        "compilerOptions": {"baseUrl": ".", "paths": {"@ui/*": ["packages/ui/src/*"], "~money": ["shared/money"],}},
    }""",
}
GO = {
    "go.mod": "// shop\nmodule example.com/shop\n\ngo 1.24\n",
    "tools/go.mod": 'module "example.com/shop/tools"\n',
    "main.go": "",
    "main_test.go": "",
    "internal/tax/tax.go": "",
    "internal/tax/rates.go": "",
    "internal/tax/tax_test.go": "",
    "tools/gen/gen.go": "",
}
RUST = {
    "Cargo.toml": '[workspace]\nmembers = ["core"]\n[package]\nname = "shop"\n',
    "core/Cargo.toml": '[package]\nname = "shop-core"\n',
    "core/src/lib.rs": "",
    "core/src/money.rs": "",
    "src/lib.rs": "",
    "src/cart.rs": "",
    "src/cart/item.rs": "",
    "src/tax/mod.rs": "",
    "src/tax/rates.rs": "",
    "tests/common/mod.rs": "",
    "tests/cart.rs": "",
}


def found(files: Mapping[str, str], path: str, *modules: str) -> list[str]:
    paths = frozenset(files)
    settings = {one: files[one] for one in settings_for(path, paths)}
    return list(imported_files(path, (Import(1, 1, modules),), CheckoutModules(paths, settings)))


@pytest.mark.parametrize(
    ("module", "file"),
    [
        ("./b", "src/b.tsx"),
        ("./b.js", "src/b.tsx"),
        ("./lib", "src/lib/index.ts"),
        ("./lib/", "src/lib/index.ts"),
        ("./lib/deep.mjs", "src/lib/deep.mts"),
        ("./old.jsx", "src/old.jsx"),
        ("./b?raw", "src/b.tsx"),
        ("../shared/money", "shared/money.ts"),
        ("@ui/button", "packages/ui/src/button.ts"),
        ("~money", "shared/money.ts"),
        ("shared/money", "shared/money.ts"),
        ("@shop/core", "packages/core/src/index.ts"),
        ("core/testing", "packages/core/testing.ts"),
        ("./data.json", None),
        ("./missing", None),
        ("../../../etc/passwd", None),
        ("react", None),
    ],
)
def test_imports_of_javascript_and_typescript(module: str, file: str | None) -> None:
    assert found(WEB, "src/a.ts", module) == ([file] if file else [])


def test_the_root_of_the_checkout_may_be_imported() -> None:
    files = {"index.js": "", "lib/index.js": "", "test/deep/a.js": ""}
    for module in ("../..", "../../", "../../index"):
        assert found(files, "test/deep/a.js", module) == ["index.js"]
    assert found(files, "a.js", ".") == ["index.js"]


HOSTILE = {
    "unclosed comments": ("a.ts", "tsconfig.json", "/* " * 33_000, "x"),
    "unclosed strings": ("a.ts", "tsconfig.json", '"' + '\\"' * 49_000, "x"),
    "targets": (
        "a.ts",
        "tsconfig.json",
        json.dumps({"compilerOptions": {"paths": {"*": ["*/" * 400] * 100}}}),
        "x" * 300,
    ),
    "keys": ("src/a.rs", "Cargo.toml", f"{'a.' * 49_000}a = 1", "std::x"),
    "a path": ("src/a.rs", "Cargo.toml", "", "a" + "::a" * 60_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_imports_and_settings_cost_bounded_time(name: str) -> None:
    path, settings, text, module = HOSTILE[name]
    files = {path: "", settings: text}
    started = time.process_time()
    assert found(files, path, *(f"{module}{number}" for number in range(6_000))) == []
    assert time.process_time() - started < 3


@pytest.mark.parametrize("text", ["{", "[" * 50_000, '{"compilerOptions": {"paths": 3}}', "[1]"])
def test_settings_that_cannot_be_read_name_nothing(text: str) -> None:
    assert found({**WEB, "tsconfig.json": text}, "src/a.ts", "@ui/button", "./b") == ["src/b.tsx"]


def test_imports_of_go_come_with_the_package_itself() -> None:
    assert found(GO, "main.go", "fmt", "example.com/shop/internal/tax") == [
        "main.go",
        "internal/tax/rates.go",
        "internal/tax/tax.go",
    ]
    assert found(GO, "internal/tax/tax_test.go", "example.com/shop/tools/gen") == [
        "internal/tax/rates.go",
        "internal/tax/tax.go",
        "tools/gen/gen.go",
    ]


@pytest.mark.parametrize(
    ("path", "module", "file"),
    [
        ("src/lib.rs", "mod cart", "src/cart.rs"),
        ("src/lib.rs", "mod tax", "src/tax/mod.rs"),
        ("src/cart.rs", "mod item", "src/cart/item.rs"),
        ("src/tax/mod.rs", "mod rates", "src/tax/rates.rs"),
        ("src/cart/item.rs", "crate::tax::rates::rate", "src/tax/rates.rs"),
        ("src/cart/item.rs", "crate::tax", "src/tax/mod.rs"),
        ("src/cart/item.rs", "crate::Cart", "src/lib.rs"),
        ("src/cart/item.rs", "super", "src/cart.rs"),
        ("src/cart/item.rs", "super::super::tax", "src/tax/mod.rs"),
        ("src/cart.rs", "self::item::Item", "src/cart/item.rs"),
        ("src/cart.rs", "item::Item", "src/cart/item.rs"),
        ("tests/cart.rs", "shop::cart::Cart", "src/cart.rs"),
        ("tests/cart.rs", "shop_core::money", "core/src/money.rs"),
        ("tests/cart.rs", "mod common", "tests/common/mod.rs"),
        ("src/cart.rs", "std::collections::HashMap", None),
        ("src/cart.rs", "mod missing", None),
    ],
)
def test_modules_of_rust(path: str, module: str, file: str | None) -> None:
    assert found(RUST, path, module) == ([file] if file else [])


def test_files_of_other_languages_import_nothing_here() -> None:
    assert found({"a.py": "", "b.py": ""}, "a.py", "b") == []
