"""Weights of the signs. A line's score is the sum of its signs, scaled so that the maximum is 1."""

from __future__ import annotations

from typing import Dict

WEIGHTS: Dict[str, float] = {
    # 1. The diff that turned the check red, as far as failing tests run the change.
    "changed": 8.0,  # the line was changed
    "changed_function": 2.5,  # its function was changed somewhere
    # its function calls a changed one, is called by one, or reads a changed name
    "changed_near": 1.5,
    # 2. The failures.
    "raised": 2.0,  # the innermost frame of the checkout in the traceback
    "frame": 0.9,  # a frame further out: divided by the distance
    "controls": 1.0,  # decides whether the raising line runs, or binds a value that it uses
    "value": 2.0,  # has a literal that explains the differing values
    "named": 1.0,  # has a name that the message quotes
    "missed": 1.0,  # no failing test enters the branch, which has what the tests expect
    "asserted": 0.8,  # its function is named in the failing statement of the test
    "mentioned": 0.25,  # its function is named anywhere in the failing test
    # 3. Coverage.
    "spectrum": 3.6,  # Ochiai, DStar and Tarantula of the line
    "recent": 2.6,  # the failing test ran it in its last steps
    "near_miss": 0.9,  # the most similar passing test does not run it
    "collected": 1.5,  # ran only during the collection of a failing test
    # 4. Tie-breakers.
    "function": 1.0,  # the spectrum of the function
    "alone": 0.3,  # no traced passing test calls the function
    "depth": 0.3,  # divided by the number of calls between the test and the function
    "alike": 0.4,  # the test's name is like the function's
    "alike_file": 0.2,  # the test file's name is like the module's
    "slice": 0.4,  # a value returned in the failing run depends on it
    "rich": 0.3,  # more can be wrong on a line with many expressions
    "hint": 1.0,  # other suspicions of the host, by their score
}

OUTSIDE_BY_NAME, OUTSIDE_BY_ATTRIBUTE = 0.9, 0.6
"""Share that a statement outside functions inherits from a function that reads what it binds."""
HEAD, DEFAULT = 0.55, 0.85
"""Share that a default or decorator inherits from its function's best line.

A default inherits more from a line that reads its parameter.
"""
CLASS = 0.35
"""Share that a class's header and own statements inherit from a method's best line."""
AT_IMPORT = 0.6
"""Share that a function's body inherits from a statement that calls it during import."""
IMPORTS = 0.35
"""Share that an import inherits if the name it binds is read."""
