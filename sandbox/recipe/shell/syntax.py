"""Parse a shell script's structure: lists, pipelines, conditions, cases and loops.

Functions are skipped.
"""

import re
from dataclasses import dataclass

from sandbox.recipe.shell.words import NotShell, ShellToken, Word, WordPart, read_tokens

_DEEPEST = 12
_MOST_PATTERNS = 200
_OPENERS = {"if": "fi", "for": "done", "while": "done", "until": "done", "case": "esac"}
_LIST = re.compile(r"[A-Za-z_]\w{0,99}\+?=")
_CLOSERS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})


@dataclass(frozen=True)
class Simple:
    """A program with its words."""

    words: tuple[Word, ...]
    redirections: tuple[tuple[str, Word], ...] = ()


@dataclass(frozen=True)
class Group:
    """`( ... )` or `{ ...; }`."""

    body: "Script"
    subshell: bool


@dataclass(frozen=True)
class If:
    """`if` with its branches; the condition of `else` is None."""

    branches: "tuple[tuple[Script | None, Script], ...]"


@dataclass(frozen=True)
class For:
    """`for NAME in WORDS`."""

    name: str
    words: tuple[Word, ...]
    body: "Script"


@dataclass(frozen=True)
class Case:
    """`case WORD in`, with the patterns and commands of each branch."""

    word: Word
    branches: "tuple[tuple[tuple[Word, ...], Script], ...]"


@dataclass(frozen=True)
class Assigned:
    """`NAME=( ... )`, or `NAME+=( ... )`."""

    name: str
    words: tuple[Word, ...]
    added: bool


@dataclass(frozen=True)
class Opaque:
    """An unsupported construct: `while`, `select`, a function."""


Command = Simple | Group | If | For | Case | Assigned | Opaque


@dataclass(frozen=True)
class Pipeline:
    """Commands joined by `|`, with their source text."""

    commands: tuple[Command, ...]
    text: str
    negated: bool = False
    background: bool = False


@dataclass(frozen=True)
class Script:
    """Pipelines, each with the operator before it: `""`, `&&` or `||`."""

    items: tuple[tuple[str, Pipeline], ...] = ()


def _literal(text: str) -> Word:
    return Word(text, (WordPart("text", text),))


def read_shell(text: str) -> Script:
    """Parse a script.

    Raises:
        NotShell: The script is malformed.
    """
    text = text.replace("\r\n", "\n")
    parser = _Parser(text, read_tokens(text))
    script = parser.script(frozenset(), 0)
    if parser.at < len(parser.tokens):
        raise NotShell("something is closed that was not opened")
    return script


class _Parser:
    def __init__(self, text: str, tokens: list[ShellToken]) -> None:
        self.text, self.tokens, self.at = text, tokens, 0

    def script(self, ends: frozenset[str], depth: int) -> Script:
        """Parse pipelines up to one of the closing words."""
        if depth > _DEEPEST:
            raise NotShell("too deep")
        items: list[tuple[str, Pipeline]] = []
        joined = ""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text == ";;" and ";;" in ends:
                break
            if token.kind == "operator" and token.text in {";", "\n", "&", "&&", "||", ";;"}:
                if token.text == "&" and items:
                    last = items[-1][1]
                    items[-1] = (
                        items[-1][0],
                        Pipeline(last.commands, last.text, last.negated, background=True),
                    )
                if token.text in {"&&", "||"}:
                    joined = token.text
                elif (
                    token.text != "\n" or not joined
                ):  # a list continues after `&&` and a line break
                    joined = ""
                self.at += 1
                continue
            if token.text in ends:
                break
            if (token.kind == "word" and token.text in _CLOSERS) or token.text == ")":
                raise NotShell("something is closed that was not opened")
            items.append((joined, self.pipeline(depth)))
            joined = ""
        return Script(tuple(items))

    def pipeline(self, depth: int) -> Pipeline:
        start = self.tokens[self.at].start
        negated = self._word() == "!"
        self.at += negated
        commands = [self.command(depth)]
        while self._operator() in {"|", "|&"}:
            self.at += 1
            while self._operator() == "\n":
                self.at += 1
            commands.append(self.command(depth))
        end = self.tokens[self.at - 1].end if self.at else start
        return Pipeline(tuple(commands), self._source_text(start, end), negated)

    def _source_text(self, start: int, end: int) -> str:
        """Return the source text, including here-documents after the line."""
        if "<<" in self.text[start:end] and self.at < len(self.tokens):
            following = (
                self.tokens[self.at + 1].start if self.at + 1 < len(self.tokens) else len(self.text)
            )
            end = following if self._operator() == "\n" else end
        elif "<<" in self.text[start:end]:
            end = len(self.text)
        return self.text[start:end].strip()

    def command(self, depth: int) -> Command:
        word = self._word()
        if self._operator() == "(":
            return self._group(")", depth, subshell=True)
        if word == "{":
            return self._group("}", depth, subshell=False)
        if word == "if":
            return self._if(depth)
        if word == "for":
            return self._for(depth)
        if word == "case":
            return self._case(depth)
        if word in {"while", "until", "function", "select"}:
            return self._opaque()
        return self._simple()

    def _group(self, close: str, depth: int, *, subshell: bool) -> Group:
        self.at += 1
        body = self.script(frozenset({close}), depth + 1)
        self._expect(close)
        return Group(body, subshell)

    def _if(self, depth: int) -> If:
        branches: list[tuple[Script | None, Script]] = []
        while self._word() in {"if", "elif"}:
            self.at += 1
            condition = self.script(frozenset({"then"}), depth + 1)
            self._expect("then")
            branches.append((condition, self.script(frozenset({"elif", "else", "fi"}), depth + 1)))
        if self._word() == "else":
            self.at += 1
            branches.append((None, self.script(frozenset({"fi"}), depth + 1)))
        self._expect("fi")
        return If(tuple(branches))

    def _for(self, depth: int) -> Command:
        start = self.at
        self.at += 1
        name = self._word()
        self.at += 1
        words: list[Word] = []
        if self._word() != "in":
            self.at = start
            return self._opaque()
        self.at += 1
        while self.at < len(self.tokens) and self.tokens[self.at].kind == "word":
            words.append(self.tokens[self.at].word or Word(""))
            self.at += 1
        while self._operator() in {";", "\n"}:
            self.at += 1
        self._expect("do")
        body = self.script(frozenset({"done"}), depth + 1)
        self._expect("done")
        return For(name, tuple(words), body)

    def _case(self, depth: int) -> Command:
        start = self.at
        branches: list[tuple[tuple[Word, ...], Script]] = []
        try:
            self.at += 1
            word = self._pattern()
            self._expect("in")
            while self._word() != "esac":
                branches += [self._branch(depth)] if self._operator() not in {"\n", ";;"} else []
                self.at += self._operator() in {"\n", ";;"}
            self._expect("esac")
            if sum(len(patterns) for patterns, _ in branches) <= _MOST_PATTERNS:
                return Case(word, tuple(branches))
        except NotShell:
            pass  # such as `;&`, after which the next branch follows
        self.at = start
        return self._opaque()

    def _branch(self, depth: int) -> tuple[tuple[Word, ...], Script]:
        self.at += self._operator() == "("
        patterns = [self._pattern()]
        while self._operator() == "|":
            self.at += 1
            patterns.append(self._pattern())
        self._expect(")")
        return tuple(patterns), self.script(frozenset({";;", "esac"}), depth + 1)

    def _pattern(self) -> Word:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token is None or token.kind != "word":
            raise NotShell("a word is missing")
        self.at += 1
        return token.word or Word(token.text)

    def _opaque(self) -> Opaque:
        """Skip to the closing word of the construct."""
        waiting = [_OPENERS.get(self._word(), "}")]
        self.at += 1
        while self.at < len(self.tokens) and waiting:
            token = self.tokens[self.at]
            # A closing word only counts at the start of a command.
            first = token.kind == "word" and self.tokens[self.at - 1].kind != "word"
            if token.text == waiting[-1] and first:
                waiting.pop()
            elif first and token.text in _OPENERS:
                waiting.append(_OPENERS[token.text])
            self.at += 1
        return Opaque()

    def _test(self) -> Simple:
        """Parse `[[ ... ]]`, where `&&`, `<` and brackets have another meaning."""
        words: list[Word] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            words.append(
                token.word if token.kind == "word" and token.word else _literal(token.text)
            )
            if token.kind == "redirection" and token.word is not None:
                words.append(token.word)
            if token.text == "]]":
                return Simple(tuple(words))
        raise NotShell("]] is missing")

    def _list(self, name: Word) -> Assigned:
        """Parse `NAME=( ... )` from its bracket on."""
        words: list[Word] = []
        self.at += 1
        while self._operator() != ")":
            if self.at >= len(self.tokens) or self._operator() not in {"", "\n"}:
                raise NotShell("a list does not end")
            words += [word] if (word := self.tokens[self.at].word) is not None else []
            self.at += 1
        self.at += 1
        return Assigned(name.raw.rstrip("+="), tuple(words), added=name.raw.endswith("+="))

    def _simple(self) -> Command:
        words: list[Word] = []
        redirections: list[tuple[str, Word]] = []
        if self._word() == "[[":
            return self._test()
        while self.at < len(self.tokens) and (token := self.tokens[self.at]).kind != "operator":
            if token.kind == "word":
                words.append(token.word or Word(token.text))
            elif token.word is not None:
                redirections.append((token.text, token.word))
            self.at += 1
        if self._operator() == "(" and len(words) == 1:
            if (
                _LIST.fullmatch(words[0].raw)
                and self.tokens[self.at - 1].end == self.tokens[self.at].start
            ):
                return self._list(words[0])
            return self._opaque()  # `name() { ... }`
        if not words and not redirections:
            raise NotShell("a command is missing")
        return Simple(tuple(words), tuple(redirections))

    def _word(self) -> str:
        """Return the next token if it is a word."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        return token.text if token is not None and token.kind == "word" else ""

    def _operator(self) -> str:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        return token.text if token is not None and token.kind == "operator" else ""

    def _expect(self, text: str) -> None:
        if self.at >= len(self.tokens) or self.tokens[self.at].text != text:
            raise NotShell(f"{text} is missing")
        self.at += 1
