"""Parse configuration files (`setup.cfg`, `tox.ini`) in linear time."""

import configparser
import re

_BLANKS = re.compile(r"[^\S\n]{100,}")


def parse_ini(text: str) -> configparser.ConfigParser | None:
    """Return the parsed file; None if it is not valid. Values are not interpolated."""
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    try:
        # configparser takes time by the square of the blanks in a line.
        parser.read_string(_BLANKS.sub(" ", text.lstrip("\ufeff")))
    except (configparser.Error, AttributeError):
        # An AttributeError is its answer to a value below an option without one.
        return None
    return parser
