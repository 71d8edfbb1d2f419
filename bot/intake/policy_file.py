"""Read `.github/metaagent.yml`: every wrong line is named, none is fatal."""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bot.domain.policy import RepositoryPolicy

POLICY_PATH = ".github/metaagent.yml"
MAX_BYTES = 32_768
_MAX_TOKENS = 1_000
_SHOWN = 60


class PolicyFile(BaseModel):
    """The keys a repository may set; each is checked alone, so one mistake costs one key."""

    model_config = ConfigDict(frozen=True, strict=True)

    enabled: bool = True
    automatic: bool = True
    rungs: tuple[Literal[0, 1, 2], ...] = Field(default=(0, 1), max_length=3)
    test_command: str | None = Field(default=None, max_length=2_000, min_length=1)
    setup: tuple[str, ...] = Field(default=(), max_length=20)
    python: str | None = Field(default=None, pattern=r"^3\.\d{1,2}$")
    draft: bool = False
    dependencies: Literal["ask", "never"] = "ask"
    time_limit_s: float = Field(default=90.0, gt=0, le=3_600)


def read_policy(content: bytes | None) -> RepositoryPolicy:
    """The policy a file states; without a file, the defaults.

    Args:
        content: The file of the default branch, or None.
    """
    if content is None:
        return RepositoryPolicy()
    document, problem = _document(content)
    if problem is not None:
        # A file that cannot be read may well say `enabled: false`: do nothing unasked.
        return RepositoryPolicy(automatic=False, problems=(problem,))
    values: dict[str, Any] = {}
    problems: list[str] = []
    for key, value in document.items():
        field = PolicyFile.model_fields.get(str(key))
        if field is None:
            problems.append(f"unknown key `{_shown(key)}`")
            continue
        try:
            values[str(key)] = _checked(str(key), value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]["msg"]
            problems.append(f"`{key}`: {first} (it says `{_shown(value)}`)")
    if any(p.startswith(("`enabled`", "`automatic`")) for p in problems):
        values["automatic"] = False
    return RepositoryPolicy(**values, problems=tuple(problems))


def read_folder_policy(folder: Path) -> RepositoryPolicy:
    """The policy of a folder on this host; a link or anything but a file counts as none.

    Args:
        folder: The top of the project.
    """
    path = folder / POLICY_PATH
    try:
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            return RepositoryPolicy()
        with path.open("rb") as file:
            return read_policy(file.read(MAX_BYTES + 1))
    except OSError as error:
        return RepositoryPolicy(problems=(f"{POLICY_PATH} cannot be read ({type(error).__name__})",))


def _checked(key: str, value: Any) -> Any:
    if isinstance(value, list):
        value = tuple(value)
    if key == "time_limit_s" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    checked = PolicyFile.model_validate({key: value})
    return getattr(checked, key)


def _document(content: bytes) -> tuple[dict[Any, Any], str | None]:
    if len(content) > MAX_BYTES:
        return {}, f"{POLICY_PATH} is larger than {MAX_BYTES} bytes and was not read"
    try:
        text = content.decode()
        # Aliases can make a small file enormous; nobody needs them here.
        for count, token in enumerate(yaml.scan(text, Loader=yaml.SafeLoader)):
            if isinstance(token, yaml.AliasToken) or count > _MAX_TOKENS:
                return {}, f"{POLICY_PATH} uses aliases or is too long and was not read"
        document = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        return {}, f"{POLICY_PATH} is not YAML ({type(error).__name__})"
    if document is None:
        return {}, None
    if not isinstance(document, dict):
        return {}, f"{POLICY_PATH} is not a mapping of keys"
    return document, None


def _shown(value: Any) -> str:
    text = str(value).replace("`", "'").replace("\n", " ")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
