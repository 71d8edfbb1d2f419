"""Split a shell script into words, redirections and operators in one pass."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sandbox.recipe.command import split_command
from sandbox.types import USUAL

MOST_CHARACTERS = 64 * 1024
_MOST_TOKENS = 6000
_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "(", ")", "\n")
_REDIRECTION = re.compile(r"(?:\d{0,2}|&)(?:>>|>&|>\||<<<|<<-?|<>|<&|[<>])")
_VARIABLE = re.compile(
    r"\$(?:([A-Za-z_]\w{0,99})"
    r"|\{([A-Za-z_]\w{0,99}(?:\[[@*]\])?)(?:(:?[-=])([^{}$`\"']{0,200}))?\}|([0-9@*#?$!-]))"
)
_PLAIN = re.compile(r"[^\s\"'\\$`&|;()<>#*?\[\]{}~]+")
_QUOTED = re.compile(r'[^"\\$`]+|\\')
_GLOB = frozenset("*?[{~")


@dataclass(frozen=True)
class WordPart:
    """A piece of a word."""

    kind: Literal["text", "variable", "live"]
    text: str
    """The text, the variable's name, or an expansion that only a shell can compute."""
    quoted: bool = False
    default: str | None = None


@dataclass(frozen=True)
class Word:
    """One word as written and as parsed."""

    raw: str
    parts: tuple[WordPart, ...] = ()

    @property
    def plain(self) -> str | None:
        """Return the word if it has no variables or expansions."""
        return (
            "".join(part.text for part in self.parts)
            if all(p.kind == "text" for p in self.parts)
            else None
        )


@dataclass(frozen=True)
class ShellToken:
    """A word, an operator or a redirection with its position."""

    kind: Literal["word", "operator", "redirection"]
    text: str
    start: int
    end: int
    word: Word | None = None
    """The word itself, or the target of a redirection."""


class ShellExpression(str):
    """The value of a variable that only a shell can compute: the expression."""

    __slots__ = ()


class NotShell(ValueError):
    """The text is not a supported script."""


@dataclass
class _Lexer:
    text: str
    index: int = 0
    tokens: list[ShellToken] = field(default_factory=list)
    heredocs: list[tuple[str, bool]] = field(default_factory=list)

    def run(self) -> list[ShellToken]:
        while self.index < len(self.text):
            if len(self.tokens) > _MOST_TOKENS:
                raise NotShell("too long")
            self._next()
        return self.tokens

    def _next(self) -> None:
        text, start = self.text, self.index
        character = text[start]
        # A backslash at the end of a line continues it.
        if text.startswith("\\\n", start):
            self.index += 2
        elif character in " \t\r":
            self.index += 1
        elif character == "#":
            end = text.find("\n", start)
            self.index = len(text) if end < 0 else end
        elif (redirection := _REDIRECTION.match(text, start)) is not None:
            self._redirect(redirection[0])
        elif (
            operator := next((o for o in _OPERATORS if text.startswith(o, start)), None)
        ) is not None:
            self.index += len(operator)
            self.tokens.append(ShellToken("operator", operator, start, self.index))
            if operator == "\n":
                # The bodies start after the line of their operators, in the same order.
                self._skip_heredocs()
        else:
            word = self._word()
            self.tokens.append(ShellToken("word", word.raw, start, self.index, word))

    def _redirect(self, operator: str) -> None:
        start = self.index
        self.index += len(operator)
        while self.text[self.index : self.index + 1] in {" ", "\t"}:
            self.index += 1
        word = self._word()
        if not word.raw:
            raise NotShell("a redirection leads nowhere")
        if operator.lstrip("0123456789").startswith("<<") and "<<<" not in operator:
            self.heredocs.append((word.plain or word.raw, operator.endswith("-")))
        self.tokens.append(ShellToken("redirection", operator, start, self.index, word))

    def _skip_heredocs(self) -> None:
        for end, indented in self.heredocs:
            while self.index < len(self.text):
                stop = self.text.find("\n", self.index)
                line = self.text[self.index : stop if stop >= 0 else len(self.text)]
                self.index += len(line) + 1
                # With `<<-`, tabs may precede the end marker.
                if (line.strip("\t") if indented else line).rstrip("\r") == end:
                    break
        self.heredocs.clear()

    def _word(self) -> Word:
        start, parts = self.index, list[WordPart]()
        while self.index < len(self.text):
            character = self.text[self.index]
            if character in " \t\r\n&|;()<>":
                break
            parts += self._piece(character)
        return Word(self.text[start : self.index], tuple(parts))

    def _piece(self, character: str) -> Iterator[WordPart]:
        text, start = self.text, self.index
        if (plain := _PLAIN.match(text, start)) is not None:
            self.index = plain.end()
            yield WordPart("text", plain[0])
        elif character == "'":
            end = text.find("'", start + 1)
            if end < 0:
                raise NotShell("a quote does not end")
            self.index = end + 1
            yield WordPart("text", text[start + 1 : end], quoted=True)
        elif character == '"':
            self.index += 1
            yield from self._double()
        elif character == "\\":
            self.index += 2
            if text[start + 1 : start + 2] != "\n":
                yield WordPart("text", text[start + 1 : start + 2], quoted=True)
        elif character in "$`":
            yield self._dollar(quoted=False)
        else:
            self.index += 1
            yield WordPart("live" if character in _GLOB else "text", character)

    def _double(self) -> Iterator[WordPart]:
        # An empty part, so that `""` is a word and not nothing.
        yield WordPart("text", "", quoted=True)
        while self.index < len(self.text):
            character = self.text[self.index]
            if character == '"':
                self.index += 1
                return
            # In double quotes a backslash escapes only these characters.
            if character == "\\" and self.text[self.index + 1 : self.index + 2] in {
                "$",
                "`",
                '"',
                "\\",
                "\n",
            }:
                following = self.text[self.index + 1]
                self.index += 2
                yield WordPart("text", "" if following == "\n" else following, quoted=True)
            elif character in "$`":
                yield self._dollar(quoted=True)
            else:
                found = _QUOTED.match(self.text, self.index)
                self.index = found.end() if found else self.index + 1
                yield WordPart("text", found[0] if found else character, quoted=True)
        raise NotShell("a quote does not end")

    def _dollar(self, *, quoted: bool) -> WordPart:
        text, start = self.text, self.index
        if (variable := _VARIABLE.match(text, start)) is not None:
            self.index = variable.end()
            name = variable[1] or variable[2]
            if name is None:
                return WordPart("live", variable[0], quoted=quoted)
            return WordPart(
                "variable", name, quoted=quoted, default=variable[4] if variable[3] else None
            )
        if text.startswith("$(", start):
            self.index = self._closing(start + 2, ")", "(")
        elif text.startswith("${", start):
            self.index = self._closing(start + 2, "}", "{")
        elif text[start] == "`":
            end = text.find("`", start + 1)
            if end < 0:
                raise NotShell("a backtick does not end")
            self.index = end + 1
        else:
            self.index += 1
            return WordPart("text", "$", quoted=quoted)
        return WordPart("live", text[start : self.index], quoted=quoted)

    def _closing(self, index: int, close: str, opening: str) -> int:
        depth, quote = 1, ""
        while index < len(self.text):
            character = self.text[index]
            index += 1
            if quote:
                quote = "" if character == quote else quote
            elif character in "'\"":
                quote = character
            elif character == opening:
                depth += 1
            elif character == close:
                depth -= 1
                if not depth:
                    return index
        raise NotShell("an expansion does not end")


def read_tokens(text: str) -> list[ShellToken]:
    """Return the tokens of a script.

    Raises:
        NotShell: A quote or an expansion is not closed, or the text is too long.
    """
    if len(text) > MOST_CHARACTERS or "\0" in text:
        raise NotShell("too long")
    return _Lexer(text.replace("\r\n", "\n")).run()


_MOST_EXPANDED = 4000


@dataclass(frozen=True)
class Expanded:
    """A word after substitution of variables."""

    value: str
    shown: str
    """The word in quoted form for a command line."""


def expand(word: Word, variables: Mapping[str, str]) -> list[Expanded]:
    """Substitute known variables in a word; unquoted ones split into several words."""
    value, live, split = "", False, False
    for part in word.parts:
        # Repeated substitution could double a text with each line.
        if len(value) > _MOST_EXPANDED:
            return [Expanded(word.raw, word.raw)]
        if part.kind == "text":
            value += part.text
            continue
        known = _value(part, variables)
        if known is None or isinstance(known, ShellExpression):
            value += part.text if part.kind == "live" else known or f"${{{part.text}}}"
            live = True
        else:
            value += known[:_MOST_EXPANDED]
            split = split or not part.quoted or part.text.endswith("[@]")
    if len(value) > _MOST_EXPANDED:
        return [Expanded(word.raw, word.raw)]
    if live:
        # known variables stay as written: the command's environment has them, too
        return [Expanded(value, _substitute(word, variables))]
    if split and len([part for part in word.parts if part.text]) == 1:
        return [Expanded(item, shlex.quote(item)) for item in split_command(value)]
    return [Expanded(value, shlex.quote(value))]


def expand_text(word: Word, variables: Mapping[str, str]) -> str | None:
    """Return a word's text with variables substituted; None if only a shell can compute it."""
    text = ""
    for part in word.parts:
        piece = part.text if part.kind == "text" else _value(part, variables)
        if piece is None or isinstance(piece, ShellExpression):
            return None
        text += piece[: _MOST_EXPANDED + 1]
        if len(text) > _MOST_EXPANDED:
            return None
    return text


def _value(part: WordPart, variables: Mapping[str, str]) -> str | None:
    """Return the value of a variable or an expansion. A variable that is set but empty is known."""
    if part.kind == "variable":
        return variables.get(part.text) or part.default or variables.get(part.text)
    return compute_expansion(part.text, variables)


_REPLACED = re.compile(
    r"\$\{([A-Za-z_]\w{0,99})(//?)([^{}$`*?\[\]/]{1,20})/?([^{}$`*?\[\]/]{0,20})\}"
)
_SUBSTITUTED = re.compile(r"\$\((.{1,500})\)|`(.{1,500})`", re.DOTALL)


def compute_expansion(text: str, variables: Mapping[str, str]) -> str | None:
    """Compute `${V//./}` or `$(echo "$V" | tr -d .)`; return None for other expansions."""
    if (found := _REPLACED.fullmatch(text)) is not None:
        value = variables.get(found[1])
        if value is None or isinstance(value, ShellExpression):
            return None
        old, new = (re.sub(r"[\\'\"]", "", part) for part in (found[3], found[4]))
        return value.replace(old, new, -1 if found[2] == "//" else 1) if old else None
    if (found := _SUBSTITUTED.fullmatch(text)) is None:
        return None
    try:
        tokens = read_tokens(found[1] or found[2])
    except NotShell:
        return None
    commands: list[list[str]] = [[]]
    for token in tokens:
        word = (
            expand_text(token.word, variables)
            if token.kind == "word" and token.word is not None
            else None
        )
        if word is not None:
            commands[-1].append(word)
        elif token.kind == "operator" and token.text == "|":
            commands.append([])
        else:
            return None
    return _run_pipe(commands, variables)


def _run_pipe(commands: list[list[str]], variables: Mapping[str, str]) -> str | None:
    """Compute `echo TEXT` or `pwd`, followed by simple filters."""
    first = [word for word in commands[0] if word not in {"-n", "-e"}]
    value: str | None = " ".join(first[1:]) if first[:1] == ["echo"] else None
    if first in (["pwd"], ["git", "rev-parse", "--show-toplevel"]):
        here = variables.get("PWD") if first == ["pwd"] else USUAL.workdir
        value = None if isinstance(here, ShellExpression) else here
    for words in commands[1:]:
        if value is None:
            return None
        value = _apply_filter(value, words)
    return value


def _apply_filter(value: str, words: list[str]) -> str | None:
    """Apply `tr -d .`, or a `sed` that replaces plain letters."""
    match words:
        case ["tr", "-d", letters] if not set("[\\-") & set(letters):
            return "".join(letter for letter in value if letter not in letters)
        case ["cut", *options]:
            return _cut(value, " ".join(options))
        case ["sed", *options, program] if set(options) <= {"-e", "-E", "-r"}:
            found = re.fullmatch(r"s(.)(\\?[^\\*+?\[\]^$()|]{1,20})\1([^\\&]{0,20})\1(g?)", program)
            if found is None or (found[2] == "." and len(value) > 1):
                return None
            old = found[2].removeprefix("\\")
            return None if "." in old[1:] else value.replace(old, found[3], -1 if found[4] else 1)
    return None


def _cut(value: str, options: str) -> str | None:
    """Apply `cut -d . -f 1`."""
    apart, field = (re.search(rf"(?:^|\s)-{name} ?(\S+)", options) for name in "df")
    if apart is None or field is None or len(apart[1]) != 1 or not field[1].isdecimal():
        return None
    parts, number = value.split(apart[1]), int(field[1][:3])
    chosen = parts[number - 1] if 0 < number <= len(parts) else ""
    return value if len(parts) == 1 else chosen  # a line without the delimiter stays whole


def _substitute(word: Word, variables: Mapping[str, str]) -> str:
    """Substitute known variables in a word with expansions."""

    def substitute(match: re.Match[str]) -> str:
        name = match[1] or match[2] or ""
        value = variables.get(name)
        # An empty value may be set within the expansion, as by a loop in `$( ... )`.
        if value in {None, "", f"${{{name}}}"} or not (
            isinstance(value, ShellExpression) or re.fullmatch(r"[\w./:=@%+-]*", value)
        ):
            return match[0]
        return value

    # In single quotes nothing is substituted, and this pass does not see quotes.
    return _VARIABLE.sub(substitute, word.raw) if "'" not in word.raw else word.raw
