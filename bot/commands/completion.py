"""metaagent completion: a script that completes commands, options and settings in a shell."""

import argparse
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

from bot.commands.options import EXIT_FIXED, Command, add_settings

_BASH = """\
# bash completion for metaagent; add to ~/.bashrc: eval "$(metaagent completion bash)"
_metaagent() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words
  if [ "$before" = --set ]; then
    compopt -o nospace
    words={keys}
  else
    case ${{COMP_WORDS[1]}} in
{cases}
      *) [ "$COMP_CWORD" = 1 ] && words={commands} ;;
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _metaagent metaagent
"""

_ZSH = """\
#compdef metaagent
# zsh completion for metaagent; add to ~/.zshrc after compinit: eval "$(metaagent completion zsh)"
_metaagent() {{
  if (( CURRENT == 2 )); then
    compadd -- {commands}
    return
  fi
  if [[ $words[CURRENT-1] == --set ]]; then
    compadd -S '' -- {keys}
    return
  fi
  case $words[2] in
{cases}
  esac
  _files
}}
compdef _metaagent metaagent
"""


class _Recorder:
    """Takes the place of a parser and records options: argparse lists them in no public way."""

    def __init__(self) -> None:
        self.words: list[tuple[str, str]] = []

    def add_argument(self, *names: str, **more: Any) -> None:
        """Record the long names of an option, or the choices of a positional argument."""
        if more.get("help") == argparse.SUPPRESS:
            return
        words = [name for name in names if name.startswith("--")]
        if not names[0].startswith("-"):
            words += more.get("choices") or ()
        self.words += [(word, str(more.get("help", ""))) for word in words]

    def add_argument_group(self, *_: str) -> "_Recorder":
        """Return the recorder itself, so that a group's options are recorded with all others."""
        return self


def _words(command: Command) -> list[tuple[str, str]]:
    """Return the options and choices of a command, each with its help."""
    recorder = _Recorder()
    parser = cast("argparse.ArgumentParser", recorder)
    command.add_options(parser)
    if command.takes_settings:
        add_settings(parser, command.settings)
    return [*recorder.words, ("--help", "show this help")]


def completion_script(shell: str, commands: Mapping[str, Command], keys: tuple[str, ...]) -> str:
    """Return the completion script of a shell.

    Args:
        shell: `bash`, `zsh` or `fish`.
        commands: All commands by name.
        keys: The keys of all settings, for `--set`.
    """
    listed = {name: _words(command) for name, command in commands.items()}
    if shell == "fish":
        return "\n".join(_fish(commands, listed, keys)) + "\n"
    joined = {name: " ".join(word for word, _ in words) for name, words in listed.items()}
    names, settings = " ".join(commands), " ".join(f"{key}=" for key in keys)
    if shell == "zsh":
        cases = [f"    {name}) compadd -- {words} ;;" for name, words in joined.items()]
        return _ZSH.format(cases="\n".join(cases), commands=names, keys=settings)
    cases = [f"      {name}) words={shlex.quote(words)} ;;" for name, words in joined.items()]
    return _BASH.format(
        cases="\n".join(cases), commands=shlex.quote(names), keys=shlex.quote(settings)
    )


def _fish(
    commands: Mapping[str, Command],
    listed: Mapping[str, list[tuple[str, str]]],
    keys: tuple[str, ...],
) -> Iterator[str]:
    yield "# fish completion for metaagent: metaagent completion fish | source"
    for name, command in commands.items():
        first = f"complete -c metaagent -n __fish_use_subcommand -f -a {name}"
        yield f"{first} -d {_fish_quote(command.help)}"
        seen = f"complete -c metaagent -n '__fish_seen_subcommand_from {name}'"
        for word, text in listed[name]:
            option = f"-l {word[2:]}" if word.startswith("--") else f"-f -a {word}"
            values = f" -x -a {_fish_quote(' '.join(f'{key}=' for key in keys))}"
            yield f"{seen} {option} -d {_fish_quote(text)}{values if word == '--set' else ''}"


def _fish_quote(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted}'"


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def _run(arguments: argparse.Namespace) -> int:
    from bot.settings import leaves

    # Other users of a machine read command lines: secrets are not offered.
    keys = tuple(leaf.key for leaf in leaves() if not leaf.is_secret)
    print(completion_script(arguments.shell, arguments.commands, keys), end="")
    return EXIT_FIXED


COMPLETION = Command(
    "print a completion script for your shell", _run, _add_options, takes_settings=False
)
