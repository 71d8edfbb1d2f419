"""The options of each command, besides the settings."""

import argparse

_SINCE = "commit it was green at, in a git checkout (default: the parent of HEAD, and HEAD if sources differ from it)"


def fix(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent fix`."""
    _project(parser)
    _test(parser, "the command that is red; detected when not given")
    parser.add_argument("--apply", action="store_true", help="write a verified fix into the folder")
    choose = "verify the choice of this number, of the last question about the folder"
    parser.add_argument("--choose", type=int, metavar="N", help=choose)
    _json(parser)
    _seed(parser)
    _time_limit(parser)
    parser.add_argument("--rungs", default="0,1,2", help="rungs to climb: 0 tools, 1 search, 2 model (default 0,1,2)")
    parser.add_argument("--evidence", metavar="FILE", help="write the evidence bundle there, for metaagent replay")


def repair(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent repair`."""
    _project(parser)
    _test(parser, "the pytest or unittest command that is red; detected when not given")
    _time_limit(parser)
    parser.add_argument("--candidates", type=int, metavar="N", help="most candidates to try")
    parser.add_argument("--show", type=int, default=5, metavar="N", help="most candidates to show (default 5)")
    half = "keep half of the passing tests back to judge what is found"
    parser.add_argument("--half", action="store_true", help=half)
    _seed(parser)
    _json(parser)


def replay(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent replay`."""
    parser.add_argument("bundle", metavar="BUNDLE", help="a file, or a mission or SHA-256 as a pull request says it")
    _json(parser)
    parser.add_argument("--keep-red", action="store_true", help="show the output of the unpatched run too")


def log(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent log`."""
    parser.add_argument("mission", metavar="MISSION", help="its id, as a pull request says it")


def recipe(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent recipe`."""
    parser.add_argument("path", metavar="PATH", nargs="?", default=".", help="folder of the project (default .)")
    parser.add_argument("--workflow", metavar="FILE", help="the workflow: its name, its path, or any file")
    parser.add_argument("--job", metavar="NAME", help="the job as its check is named, or its id")
    parser.add_argument("--step", metavar="NAME", help="the failed step; the one that tests when not given")
    parser.add_argument("--matrix", metavar="NAME=VALUE", action="append", default=[], help="the cell; repeatable")
    _json(parser)


def doctor(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent doctor`."""
    live = "ask GitHub too: rights, events, whether webhooks arrive, whether CI runs on our commits"
    parser.add_argument("--live", action="store_true", help=live)
    face = "look only at what this way in needs; at everything when not given"
    parser.add_argument("--for", dest="face", choices=("terminal", "action", "service"), help=face)
    _json(parser)


def simulate(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent simulate`."""
    parser.add_argument("payload", metavar="PAYLOAD", help="file with the body of a webhook; - is standard input")
    parser.add_argument("--event", metavar="NAME", help="the webhook's event; told from the payload when not given")
    parser.add_argument("--offline", action="store_true", help="do not ask GitHub")
    _json(parser)


def models(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent models`."""
    parser.add_argument("action", choices=("check",), help="ask every configured model once")
    caching = "ask twice more with a long text, to see whether the server keeps it"
    parser.add_argument("--caching", action="store_true", help=caching)
    _json(parser)


def prompts(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent prompts`."""
    parser.add_argument("action", choices=("show", "list"), help="render one prompt, or list them all")
    parser.add_argument("name", metavar="NAME", nargs="?", help="the prompt to show")
    gap = "fill a gap with foreign text; repeatable; the others stay as they are"
    parser.add_argument("--gap", metavar="NAME=TEXT", action="append", default=[], help=gap)
    _json(parser)


def image(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent image`."""
    prune = "also remove environments over the limits of age and size"
    parser.add_argument("--prune", action="store_true", help=prune)


def db(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent db`."""
    what = "bring the tables up to date, copy the databases while they are in use, or see whether they are sound"
    parser.add_argument("action", choices=("upgrade", "backup", "check"), help=what)
    target = "what backup makes: a folder, or a file on PostgreSQL"
    parser.add_argument("target", metavar="TARGET", nargs="?", help=target)
    _json(parser)


def place(parser: argparse.ArgumentParser) -> None:
    """Where a pause is meant."""
    where = "an account (acme) or a repository (acme/shop); everything when not given"
    parser.add_argument("place", metavar="PLACE", nargs="?", default="", help=where)


def pause(parser: argparse.ArgumentParser) -> None:
    """Of `metaagent pause`."""
    place(parser)
    parser.add_argument("--now", action="store_true", help="stop missions that run there, too")
    parser.add_argument("--drain", action="store_true", help="come back when no mission runs there any more")
    parser.add_argument("--why", metavar="TEXT", default="", help="said to people who wait")


def _project(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="folder of the project")
    parser.add_argument("--since", metavar="REV", help=_SINCE)


def _test(parser: argparse.ArgumentParser, text: str) -> None:
    # The policy says test_command, the Action test-command; both names are understood here.
    names = ("--test", "--test-command", "--command")
    parser.add_argument(*names, dest="test", metavar="COMMAND", help=text)


def _time_limit(parser: argparse.ArgumentParser) -> None:
    text = "for the search of a fix, in seconds (default: the setting limits.search_s)"
    parser.add_argument("--time-limit", "--seconds", type=float, metavar="SECONDS", help=text)


def _seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", type=int, default=0, help="seed of everything random (default 0)")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def settings(parser: argparse.ArgumentParser) -> None:
    """Every setting, of every command that takes them."""
    from bot.settings import leaves

    group = parser.add_argument_group("settings")
    group.add_argument("--config", metavar="FILE", help="settings file (default metaagent.toml when it is there)")
    for leaf in leaves():
        text = " ".join(filter(None, (leaf.description, f"[{leaf.default}]" if leaf.default else "")))
        # Other users of a machine read command lines: an option for a secret is understood, and not offered.
        shown = argparse.SUPPRESS if leaf.is_secret else text.replace("%", "%%")
        group.add_argument(leaf.option, dest=f"setting:{leaf.key}", metavar="VALUE", help=shown)
