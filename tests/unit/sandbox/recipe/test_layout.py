"""Where code lies, what a build would make, and which version a project has."""

import pytest

from sandbox.recipe.building import build_in_place
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.layout import read_layout
from sandbox.recipe.requirements import Local, Requirements


def files(contents: dict[str, str], *names: str) -> CheckoutFiles:
    return CheckoutFiles(
        {name: text.encode() for name, text in contents.items()}, {*contents, *names}, FidelityLog()
    )


ROOTS = {
    '[tool.setuptools.packages.find]\nwhere = ["python"]\n': ("python", "."),
    '[tool.setuptools.package-dir]\n"" = "code"\n': ("code", "."),
    '[[tool.poetry.packages]]\ninclude = "m"\nfrom = "lib"\n': ("lib", "."),
    '[tool.hatch.build.targets.wheel]\npackages = ["source/m"]\n': ("source", "."),
    '[tool.hatch.build.targets.wheel]\nsources = ["a"]\n': ("a", "."),
    '[tool.pdm.build]\npackage-dir = "here"\n': ("here", "."),
    '[tool.uv.build-backend]\nmodule-root = "there"\n': ("there", "."),
    '[tool.maturin]\npython-source = "python"\n': ("python", "."),
    '[tool.setuptools.packages.find]\nwhere = ["../../etc", "/etc", "a\\nb"]\n': (".",),
    "": (".",),
}


@pytest.mark.parametrize("toml", ROOTS)
def test_settings_name_the_folder_of_the_code(toml: str) -> None:
    assert read_layout(files({"pyproject.toml": toml}), ".").roots == ROOTS[toml]


def test_setup_cfg_and_setup_py_name_it_too() -> None:
    cfg = "[options]\npackage_dir =\n    = code\n[options.packages.find]\nwhere = more\n"
    assert read_layout(files({"setup.cfg": cfg}), ".").roots == ("more", "code", ".")
    py = "from setuptools import setup, find_packages\nsetup(package_dir={'': 'code'}, packages=find_packages('code'))\n"
    assert read_layout(files({"setup.py": py}), ".").roots == ("code", ".")
    assert read_layout(files({}, "sub/src/m.py", "lib/readme"), "sub").roots == ("sub/src", "sub")


VERSIONS = {
    '[project]\nname="m"\nversion="1.2"\n': "1.2",
    '[tool.poetry]\nname="m"\nversion="1.3"\n': "1.3",
    '[tool.hatch.version]\npath="m/__about__.py"\n': "2.0",
    '[tool.setuptools.dynamic]\nversion={attr="m.__version__"}\n': "2.1.dev0",
    '[tool.setuptools.dynamic]\nversion={file="VERSION"}\n': "2.2",
    '[project]\nname="m"\ndynamic=["version"]\n': "2.1.dev0",
    '[project]\nname="other"\ndynamic=["version"]\n': "",
}


@pytest.mark.parametrize("toml", VERSIONS)
def test_a_version_that_is_written_down_is_found(toml: str) -> None:
    others = {
        "m/__about__.py": '__version__ = "2.0"',
        "m/__init__.py": "__version__ = '2.1.dev0'",
        "VERSION": "2.2\n",
    }
    assert read_layout(files({"pyproject.toml": toml, **others}), ".").version == VERSIONS[toml]


SCM = {
    '[tool.setuptools_scm]\nwrite_to="src/m/_version.py"\n',
    '[tool.setuptools_scm]\nversion_file="src/m/_version.py"\n',
    '[tool.hatch.build.hooks.vcs]\nversion-file="src/m/_version.py"\n',
}


@pytest.mark.parametrize("toml", sorted(SCM))
def test_a_module_that_the_build_writes_is_written_before(toml: str) -> None:
    wanted = Requirements(local=(Local(folder="."),))
    (line,) = build_in_place(wanted, files({"pyproject.toml": toml}), ".").prepare
    assert line.startswith("[ -e src/m/_version.py ] || printf ")
    (line,) = build_in_place(wanted, files({"pyproject.toml": toml}), "tests").prepare
    assert line.endswith("> ../src/m/_version.py")
    assert (
        build_in_place(wanted, files({"pyproject.toml": toml}, "src/m/_version.py"), ".").prepare
        == ()
    )
    hostile = toml.replace("src/m/_version.py", "$(touch x)/_version.py")
    assert build_in_place(wanted, files({"pyproject.toml": hostile}), ".").prepare == ()


def test_extensions_are_built_in_place_and_other_compilers_are_missing() -> None:
    wanted = Requirements(local=(Local(folder="a"),))
    setup = {
        "a/setup.py": "from setuptools import setup\nsetup(ext_modules=[Extension('x', ['x.c'])])\n"
    }
    built = build_in_place(wanted, files(setup, "a/x.pyx"), ".")
    assert built.prepare == ("cd a && python setup.py -q build_ext --inplace || true",)
    assert built.wanted.lines == ("setuptools", "cython")
    rust = {"a/pyproject.toml": '[build-system]\nrequires=["maturin"]\nbuild-backend="maturin"\n'}
    assert "Rust" in build_in_place(wanted, files(rust), ".").obstacles[0]
