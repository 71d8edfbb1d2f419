"""Evaluate the conditions of a shell script without running it: `test`, `[ ]` and `[[ ]]`."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from sandbox.recipe.files import CheckoutFiles, inside

_LONGEST_PATTERN = 200


def evaluate_test(words: list[str], files: CheckoutFiles, folder: str | None) -> bool | None:
    """Evaluate `[ -f file ]` and `[[ "$X" == y ]]`; return None if only a shell knows.

    Args:
        words: The command with its arguments.
        files: The files of the checkout.
        folder: The current folder; None outside of the checkout.
    """
    given = words[1:-1] if words[0] in {"[", "[["} else words[1:]
    if words[0] == "[[":
        given = _match_patterns(given)
    alternatives = [_all_hold(side, files, folder) for side in _split_at(given, "||")]
    if True in alternatives:
        return True
    return None if None in alternatives else False


def choose_branch(value: str, branches: Sequence[Sequence[str]]) -> int | None:
    """Return the number of the branch of a `case`; None if only a shell knows.

    Args:
        value: What is compared.
        branches: The patterns of each branch. Their count stands for none of them.
    """
    for number, patterns in enumerate(branches):
        for pattern in patterns:
            if set("$`") & set(value + pattern) or "[" in pattern:
                return None
            if len(pattern) <= _LONGEST_PATTERN and fnmatchcase(value, pattern):
                return number
    return len(branches)


def _match_patterns(words: list[str]) -> list[str]:
    """Replace the pattern in `[[ $OS == ubuntu* ]]` by what it matches, or by another text."""
    found = list(words)
    for at in range(1, len(words) - 1):
        left, sign, right = words[at - 1 : at + 2]
        is_pattern = sign in {"=", "==", "!="} and set("*?") & set(right)
        if is_pattern and "[" not in right and len(right) <= _LONGEST_PATTERN:
            found[at + 1] = left if fnmatchcase(left, right) else f"{left}-"
    return found


def _all_hold(words: list[str], files: CheckoutFiles, folder: str | None) -> bool | None:
    parts = [_evaluate_one(part, files, folder) for part in _split_at(words, "&&")]
    if False in parts:
        return False
    return None if None in parts else True


def _split_at(words: list[str], joint: str) -> list[list[str]]:
    """Split words at a joining operator."""
    found: list[list[str]] = [[]]
    for word in words:
        if word == joint:
            found.append([])
        else:
            found[-1].append(word)
    return found


def _evaluate_one(given: list[str], files: CheckoutFiles, folder: str | None) -> bool | None:
    negated = given[:1] == ["!"]
    given = given[negated:]
    truth: bool | None = None
    if any("${" in word or "$(" in word or "`" in word for word in given):
        return None
    match given:
        case ["-f" | "-e" | "-r" | "-s", path] if folder is not None:
            place = inside(folder, path)
            truth = place is not None and (
                files.is_file(place) or (given[0] == "-e" and files.is_folder(place))
            )
        case ["-d", path] if folder is not None:
            place = inside(folder, path)
            truth = place is not None and files.is_folder(place)
        case ["-n", text]:
            truth = bool(text)
        case ["-z", text]:
            truth = not text
        case [left, "=" | "==" | "-eq", right] if not set("*?[") & set(right):
            truth = left == right
        case [left, "!=" | "-ne", right] if not set("*?[") & set(right):
            truth = left != right
        case _:
            return None
    return truth is not negated
