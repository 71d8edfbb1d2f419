"""What each sign of guilt counts; a line's score is the sum of its signs, the best line's becomes 1."""

from __future__ import annotations

from typing import Dict

WEIGHTS: Dict[str, float] = {
    # 1. The diff that turned the check red, as far as failing tests run what it changed.
    "changed": 8.0,  # the line was changed
    "changed_function": 2.5,  # its function was changed somewhere
    "changed_near": 1.5,  # its function calls one that was changed, is called by one, or reads a name bound there
    # 2. What the failing tests say.
    "raised": 2.0,  # the innermost frame of the checkout in the traceback
    "frame": 0.9,  # a frame further out: divided by how far
    "controls": 1.0,  # decides whether the raising line runs, or makes a value that it uses
    "value": 2.0,  # holds a literal that explains the values which differ
    "named": 1.0,  # holds a name that the message quotes
    "asserted": 0.8,  # its function is named in the failing statement of the test
    "mentioned": 0.25,  # its function is named anywhere in the failing test
    # 3. Which tests run it.
    "spectrum": 3.6,  # Ochiai, DStar and Tarantula of the line
    "recent": 2.6,  # the failing test ran it in its last steps
    "near_miss": 0.9,  # the passing test that is most like the failing one does not run it
    "collected": 1.5,  # no failing test runs it, but it ran for one when the tests were collected
    # 4. Ties.
    "function": 1.0,  # the spectrum of the function
    "alone": 0.3,  # no traced passing test calls the function
    "depth": 0.3,  # divided by how many calls of the checkout are between the test and the function
    "alike": 0.4,  # the test's name is like the function's
    "alike_file": 0.2,  # the test file's name is like the module's
    "slice": 0.4,  # a value returned in the failing run depends on it
    "rich": 0.3,  # more can be wrong on a line with many expressions
    "hint": 1.0,  # whatever else the host says, by its score
}

OUTSIDE_BY_NAME, OUTSIDE_BY_ATTRIBUTE = 0.9, 0.6
"""What a statement outside functions inherits of the score of a function that reads what it binds."""
HEAD, DEFAULT = 0.55, 0.85
"""What a default or a decorator inherits of its function's best line, and a default of the best line that reads its
parameter."""
CLASS = 0.35
"""What the head of a class and its own statements inherit of a method's best line."""
AT_IMPORT = 0.6
"""What the body of a function inherits of a statement that calls it while the module is imported."""
IMPORTS = 0.35
"""What an import inherits, when the name it binds is read."""
