"""Which Node.js is requested, in every spelling people use."""

import pytest

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.node_versions import node_of_project, read_node


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ("20", "20"),
        (20, "20"),
        ("v20.11.1", "20.11.1"),
        ("20.x", "20"),
        ("18.17.*", "18.17"),
        ("^20.9.0", "20"),
        ("~20.9.1", "20.9"),
        ("16 || 18 || 20", "20"),
        ("^18.12 || >=24", "24"),
        (">=18", None),
        (">=18 <21", "20"),
        (">=18 <23.0.0", None),
        (">= 24.2", "24"),
        ("lts/iron", "20"),
        ("lts/*", "24"),
        ("lts/-1", "22"),
        ("lts/-9", None),
        ("latest", "26"),
        ("node", "26"),
        (">=18 <=20", "20"),
        (">=18 <=20.19.x", "20"),
        ("<=18", "18"),
        ("<21", "20"),
        ("<=22", None),
        (">=18 <=24", None),
        ("", None),
        ("20; rm -rf /", None),
        ("../20", None),
        ("9" * 5000, None),
    ],
)
def test_a_version_is_read(words: object, version: str | None) -> None:
    assert read_node(words) == version


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({".nvmrc": "v20.11\n"}, "20.11"),
        ({".nvmrc": "# team\nlts/hydrogen # old\n"}, "18"),
        ({".node-version": "18.0.0\n", "package.json": '{"engines": {"node": "20"}}'}, "18.0.0"),
        ({".tool-versions": "node 20.1.0\n"}, "20.1.0"),
        ({".tool-versions": "python 3.11.1\nnodejs 20.1.0\n"}, "20.1.0"),
        ({"package.json": '{"engines": {"node": "20"}, "volta": {"node": "18.1.0"}}'}, "18.1.0"),
        (
            {"package.json": '{"devEngines": {"runtime": {"name": "node", "version": "^24.4.0"}}}'},
            "24",
        ),
        (
            {
                "package.json": '{"devEngines": {"runtime": [{"name": "bun", "version": "1"},'
                ' {"name": "node", "version": "20.1.0"}]}}'
            },
            "20.1.0",
        ),
        ({"package.json": '{"devEngines": {"runtime": "node"}}'}, None),
        ({"package.json": '{"engines": {"node": ["20"]}}'}, None),
        ({"package.json": '{"engines": "20"}'}, None),
        ({"web/package.json": '{"engines": {"node": "20"}}', ".nvmrc": "16"}, "20"),
        ({"web/package.json": "{", ".nvmrc": "16"}, "16"),
        ({".nvmrc": "\x00\x01"}, None),
    ],
)
def test_the_files_of_a_project_name_one(files: dict[str, str], version: str | None) -> None:
    contents = {name: text.encode() for name, text in files.items()}
    assert node_of_project(CheckoutFiles(contents, None, FidelityLog()), "web") == version
