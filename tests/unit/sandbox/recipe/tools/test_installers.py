"""pip, uv, poetry, pipenv and pdm: what their calls install, and what they run."""

import pytest

from tests.tool_reading import Read

PIP_FILES = {
    "requirements.txt": "six==1.16.0\n-c constraints.txt\n--index-url https://example.org\n",
    "constraints.txt": "attrs<24\nnumpy[x]==1.26\n",
    "dev/requirements.txt": "-r ../requirements.txt\npytest\n-e .\n-e ./libs/core[fast]\n",
    "libs/core/pyproject.toml": '[project]\nname="core"\n',
    "sub/setup.py": "",
    "setup.py": "",
    "pyproject.toml": '[project]\nname="m"\ndependencies=["attrs"]\n[dependency-groups]\ndev=["pytest"]\n',
}
PIP = {
    "pip install six": (["six"], []),
    "pip3.11 install -U pip setuptools wheel": ([], []),
    "python -m pip install --upgrade pip tox six": (["six"], []),
    "sudo -E pip install --user 'six>=1' \"attrs<24\"": (["six>=1", "attrs<24"], []),
    "pip install -r requirements.txt": (["six==1.16.0"], []),
    "pip install -rrequirements.txt": (["six==1.16.0"], []),
    "pip install --requirement=requirements.txt": (["six==1.16.0"], []),
    "pip install -r dev/requirements.txt": (["six==1.16.0", "pytest"], [".", "libs/core[fast]"]),
    "pip install -Ur requirements.txt": (["six==1.16.0"], []),
    "pip install -qUe.[dev]": ([], [".[dev]"]),
    "pip install .": ([], ["."]),
    "pip install -e .": ([], ["."]),
    "pip install -e.": ([], ["."]),
    "pip install -e '.[dev,test]'": ([], [".[dev,test]"]),
    "pip install .[dev]": ([], [".[dev]"]),
    "pip install './[dev]'": ([], [".[dev]"]),
    "pip install -e ./libs/core -e libs/core[x]": ([], ["libs/core", "libs/core[x]"]),
    "pip install sub/": ([], ["sub"]),
    "cd sub && pip install -e ..": ([], ["."]),
    "pip install -e sub six --no-deps": (["six"], ["sub"]),
    "python -m build && pip install dist/*.whl": ([], ["."]),
    "pip install dist/m-1.0-py3-none-any.whl[x]": ([], [".[x]"]),
    "pip install $(ls dist/*.whl)": ([], ["."]),
    "pip install --index-url https://example.org/simple six": (["six"], []),
    "pip install --group dev": (["pytest"], []),
    "pip install -r pyproject.toml": (["attrs"], []),
    "pip list && pip check && pip freeze > out.txt": ([], []),
    "pip uninstall -y six": ([], []),
    "uv pip install --system -e '.[test]' six": (["six"], [".[test]"]),
    "uv pip sync requirements.txt": (["six==1.16.0"], []),
    "uv pip install -r pyproject.toml --extra x": (["attrs"], []),
    "pipx install poetry && pipx run ruff check": (["ruff"], []),
    "uv tool install ruff@0.5.0": (["ruff==0.5.0"], []),
    "python setup.py develop": ([], ["."]),
    "python setup.py install": ([], ["."]),
}


@pytest.mark.parametrize("script", PIP)
def test_what_pip_installs(script: str) -> None:
    read = Read(script, PIP_FILES)
    assert (read.lines, read.projects) == PIP[script]


def test_bounds_install_nothing() -> None:
    read = Read("pip install -c constraints.txt six", PIP_FILES)
    assert (read.lines, read.reading.wanted.constraints) == (["six"], ("attrs<24", "numpy==1.26"))


def test_a_project_without_its_dependencies() -> None:
    (local,) = Read("pip install --no-deps -e .", PIP_FILES).reading.wanted.local
    assert local.alone


MISSING = (
    "pip install git+https://example.org/a/thing.git@main",
    "pip install 'thing @ git+https://example.org/a/x'",
    "pip install -e git+ssh://git@example.org/a/x#egg=thing",
    "pip install https://example.org/thing.zip",
)


@pytest.mark.parametrize("script", MISSING)
def test_what_comes_from_an_address_is_named_as_missing(script: str) -> None:
    read = Read(script)
    assert read.lines == []
    assert "thing" in read.reading.wanted.missing[0]


def test_requirement_files_without_an_ending() -> None:
    files = {"requirements/test": "six\n-r base\n", "requirements/base": "attrs\n", "x.txt": "idna"}
    read = Read("pip install -r requirements/test -rx.txt", files)
    assert read.lines == ["six", "attrs", "idna"]


def test_the_project_by_its_name_is_that_of_the_checkout() -> None:
    files = {"pyproject.toml": "[project]\nname = 'My_Thing'\n"}
    assert Read("pip install --no-index -f dist 'my-thing[a]'", files).projects == [".[a]"]
    assert Read("pip install my-thing", files).lines == ["my-thing"]


def test_plugins_of_tools_are_left_out() -> None:
    assert Read("pip install tox tox-docker poetry-plugin-x toxic nox-x").lines == ["toxic"]


@pytest.mark.parametrize(
    "script",
    [
        "uv pip install --resolution lowest-direct six",
        "uv sync --resolution=lowest",
        "uv run --resolution lowest-direct pytest",
    ],
)
def test_other_versions_than_the_highest_are_missing(script: str) -> None:
    files = {"pyproject.toml": "[project]\nname = 'm'\n"}
    (missing,) = Read(script, files).reading.wanted.missing
    assert missing.endswith("only the highest versions are installed here")
    assert not Read("uv sync --resolution highest", files).reading.wanted.missing


def test_which_index_is_asked_is_the_operators_choice() -> None:
    read = Read("pip install -r requirements.txt --extra-index-url https://example.org", PIP_FILES)
    assert sum("operator" in note.reason for note in read.notes) == 2
    assert read.reading.wanted.missing == ()


UV_LOCK = """
[[package]]
name = "m"
version = "1"
source = { editable = "." }
[[package]]
name = "six"
version = "1.16.0"
source = { registry = "https://example.org/simple" }
[[package]]
name = "forked"
version = "1"
source = { git = "https://example.org/x" }
[[package]]
name = "both"
version = "1"
source = { registry = "https://example.org/simple" }
[[package]]
name = "both"
version = "2"
source = { registry = "https://example.org/simple" }
"""
UV = {
    "pyproject.toml": '[project]\nname="m"\ndependencies=["six"]\n[project.optional-dependencies]\nfast=["numpy"]\n'
    '[dependency-groups]\ndev=["pytest"]\ndocs=["sphinx"]\n[tool.uv]\ndev-dependencies=["mypy"]\n',
    "uv.lock": UV_LOCK,
    "packages/a/pyproject.toml": '[project]\nname="a"\n',
}
UV_CALLS = {
    "uv sync": [".[dev]"],
    "uv sync --frozen --all-extras --dev": [".[dev,fast,docs]"],
    "uv sync --locked --extra fast --group docs": [".[dev,fast,docs]"],
    "uv sync --no-dev": ["."],
    "uv sync --no-group dev --group docs": [".[docs]"],
    "uv sync --no-default-groups": ["."],
    "uv sync --package a": ["packages/a[dev]"],
    "uv --directory packages/a sync": ["packages/a[dev]"],
    "uv sync --all-packages": [".[dev]", "packages/a[dev]"],
    "cd packages/a && uv sync": ["packages/a[dev]"],
    "uv venv && uv python install 3.11 && uv lock": [],
}


@pytest.mark.parametrize("script", UV_CALLS)
def test_what_uv_syncs(script: str) -> None:
    assert Read(script, UV).projects == UV_CALLS[script]


def test_the_lock_of_uv_binds_what_comes_from_an_index() -> None:
    assert Read("uv sync", UV).reading.wanted.constraints == ("six==1.16.0",)
    assert Read("uv sync --only-group docs", UV).lines == ["sphinx"]
    assert Read("uv sync --no-install-project --no-dev", UV).projects == []


RUNS = {
    "uv run pytest -q": ["pytest -q"],
    "uv run --frozen --extra fast --python 3.11 pytest": ["pytest"],
    "uv run --with pytest-xdist -- pytest -n 2": ["pytest -n 2"],
    "uv run python -m pytest": ["python -m pytest"],
    "uv run -m pytest -x": ["python -m pytest -x"],
    "uv run coverage run -m pytest": ["python -m pytest"],
    "uv run --directory packages/a pytest": ["packages/a: pytest"],
    "uv run tox -e x": ["tox -e x"],
    "uvx ruff@0.5 check": ["ruff check"],
    "uvx --from ruff==0.5 ruff format --check": ["ruff format --check"],
    "uv tool run black --check .": ["black --check ."],
    "uv run --no-sync mypy": ["mypy"],
}


PYTHONS = {
    "uv python install 3.11": "3.11",
    "uv python pin 3.12": "3.12",
    "uv venv -p 3.10": "3.10",
    "uv sync --python 3.9": "3.9",
    "uv run -p 3.13 pytest": "3.13",
    "uv run pytest": None,
    "uv python list": None,
    "uvx pytest": None,
}


@pytest.mark.parametrize("script", PYTHONS)
def test_the_python_that_uv_is_asked_for(script: str) -> None:
    assert Read(script, UV).reading.python == PYTHONS[script]


@pytest.mark.parametrize("script", RUNS)
def test_what_uv_runs(script: str) -> None:
    assert Read(script, UV).commands == RUNS[script]


def test_running_with_uv_installs_first() -> None:
    read = Read("uv run --with pytest-xdist --group docs pytest", UV)
    assert (read.lines, read.projects) == (["pytest-xdist"], [".[dev,docs]"])
    assert Read("uv run --no-sync pytest", UV).projects == []
    assert Read("uvx ruff@0.5 check", UV).lines == ["ruff==0.5"]
    assert Read("uvx ruff@latest check", UV).lines == ["ruff"]


POETRY = {
    "pyproject.toml": """
[tool.poetry]
name = "m"
[tool.poetry.dependencies]
python = "^3.9"
six = "^1.16"
numpy = {version = "^1.26", optional = true}
core = {path = "../core", develop = true}
[tool.poetry.extras]
fast = ["numpy"]
[tool.poetry.group.dev.dependencies]
pytest = "^8"
[tool.poetry.group.docs]
optional = true
[tool.poetry.group.docs.dependencies]
sphinx = "*"
""",
    "poetry.lock": '[[package]]\nname = "six"\nversion = "1.16.0"\n\n[package.extras]\nversion = "9"\n\n[[package]]\nname = "core"\n'
    'version = "1"\n\n[package.source]\ntype = "directory"\n',
}
POETRY_CALLS = {
    "poetry install": [".[dev]"],
    "poetry install --no-interaction --no-ansi --with docs": [".[dev,docs]"],
    "poetry install --without dev": ["."],
    "poetry install --no-dev": ["."],
    "poetry install -E fast": [".[dev,fast]"],
    "poetry install --extras 'fast'": [".[dev,fast]"],
    "poetry install --all-extras": [".[dev,fast]"],
    "poetry install --only main": ["."],
    "poetry install --only-root": ["."],
    "poetry sync --all-groups": [".[dev,docs]"],
    "poetry config virtualenvs.create false && poetry install": [".[dev]"],
    "poetry install --no-root": [],
    "poetry install --only dev": [],
    "poetry check && poetry lock --check": [],
}


@pytest.mark.parametrize("script", POETRY_CALLS)
def test_what_poetry_installs(script: str) -> None:
    assert Read(script, POETRY).projects == POETRY_CALLS[script]


def test_poetrys_groups_lock_and_scripts() -> None:
    assert Read("poetry install --only dev", POETRY).lines == ["pytest>=8,<9"]
    assert Read("poetry install", POETRY).reading.wanted.constraints == ("six==1.16.0",)
    assert Read("poetry run pytest -x", POETRY).commands == ["pytest -x"]
    assert Read("poetry run coverage run -m pytest", POETRY).commands == ["python -m pytest"]
    assert Read(
        "poetry -C sub run pytest", {"sub/pyproject.toml": POETRY["pyproject.toml"]}
    ).commands == ["sub: pytest"]


PIPFILE = {
    "Pipfile": '[packages]\nsix = "*"\nm = {editable = true, path = "."}\n[dev-packages]\npytest = "==8.0"\n'
    '[scripts]\ntest = "pytest -q"\n',
    "Pipfile.lock": '{"default": {"six": {"version": "==1.16.0"}}, "develop": {"pytest": {"version": "==8.0"}}}',
}


def test_what_pipenv_does() -> None:
    read = Read("pipenv install --dev --deploy", PIPFILE)
    assert (read.lines, read.projects) == (["six", "pytest==8.0"], ["."])
    assert read.reading.wanted.constraints == ("pytest==8.0", "six==1.16.0")
    assert Read("pipenv sync", PIPFILE).lines == ["six"]
    assert Read("pipenv install -r requirements.txt", PIP_FILES).lines == ["six==1.16.0"]
    assert Read("pipenv run pytest -x", PIPFILE).commands == ["pytest -x"]
    assert Read("pipenv run test -x", PIPFILE).commands == ["pytest -q -x"]
    assert Read("python -m pipenv run test", PIPFILE).commands == ["pytest -q"]


def test_packages_of_another_platform_are_not_installed_here() -> None:
    pipfile = """[packages]\na = {version = "*", sys_platform = "== 'win32'"}\n"""
    assert Read("pipenv install", {"Pipfile": pipfile}).lines == ["a ; sys_platform == 'win32'"]
    poetry = '[tool.poetry.dependencies]\na = {version = ">=1 <2", platform = "win32"}\n'
    read = Read("poetry install", {"pyproject.toml": poetry})
    assert read.lines == ["a>=1,<2 ; sys_platform == 'win32'"]


def test_only_members_of_a_workspace_are_installed() -> None:
    files = {
        "pyproject.toml": '[project]\nname = "m"\n[tool.uv.workspace]\n'
        'members = ["libs/*"]\nexclude = ["libs/old"]\n',
        **{
            f"{folder}/pyproject.toml": f'[project]\nname = "{folder[-1]}"\n'
            for folder in ("libs/a", "libs/old", "examples/b", "libs/c/d")
        },
    }
    assert Read("uv sync --all-packages", files).projects == [".[dev]", "libs/a[dev]"]


PDM = {
    "pyproject.toml": """
[project]
name = "m"
[tool.pdm.dev-dependencies]
test = ["pytest"]
[tool.pdm.scripts]
_.env = {X = "1"}
test = "pytest"
lint = {composite = ["style", "mypy src"]}
style = {cmd = ["ruff", "check", "."], env = {A = "1"}}
sh = {shell = "pytest | tee log"}
call = {call = "m.cli:main()"}
loop = {composite = ["loop", "loop"]}
unit = "pytest {args:tests} -q"
words = {cmd = ["pytest", "-k", "a or b"]}
deep = {cmd = "pytest", working_dir = "sub", env = {Y = "2"}}
""",
    "pdm.lock": '[[package]]\nname = "pytest"\nversion = "8.0.0"\n',
}
PDM_CALLS = {
    "pdm run test -x": ["pytest -x"],
    "pdm run pytest -x": ["pytest -x"],
    "pdm run lint": ["ruff check .", "mypy src"],
    "pdm run style": ["ruff check ."],
    "pdm run sh": ["pytest"],
    "pdm run call": ["python -c 'import m.cli; m.cli.main()'"],
    "pdm test": ["pytest"],
    "pdm run -v python -m pytest": ["python -m pytest"],
    "rye run pytest": ["pytest"],
    "rye test -- -x": ["pytest -x"],
    "rye lint": ["ruff check"],
    "pdm run unit": ["pytest tests -q"],
    "pdm run unit a b": ["pytest a b -q"],
    "pdm run words": ["pytest -k 'a or b'"],
    "pdm run deep": ["sub: pytest"],
}


@pytest.mark.parametrize("script", PDM_CALLS)
def test_what_pdm_runs(script: str) -> None:
    assert Read(script, PDM).commands == PDM_CALLS[script]


def test_what_pdm_installs() -> None:
    read = Read("pdm install --frozen-lockfile -G:all", PDM)
    assert read.projects == [".[test]"]
    assert read.reading.wanted.constraints == ("pytest==8.0.0",)
    assert Read("pdm sync --prod", PDM).projects == ["."]
    assert len(Read("pdm run loop", PDM).commands) < 100
    (command,) = Read("pdm run deep", PDM).reading.commands
    assert command.environment == {"X": "1", "Y": "2"}
