"""What stands in failing tests, read without running them."""

import ast

from sandbox.guest.search.session.baseline import expected_exceptions

TEST = """
def test_it(expected):
    with pytest.raises((KeyError, errors.Broken)):
        look_up("x")
    with raises(ValueError, match="no"):
        look_up("y")
    with pytest.raises(expected):
        look_up("z")
    case.assertRaises(OSError, look_up, "")
    raises()
"""


def test_exceptions_that_a_test_expects_are_known_by_name_but_a_parameter_is_none() -> None:
    assert sorted(expected_exceptions(ast.parse(TEST))) == [
        "Broken",
        "KeyError",
        "OSError",
        "ValueError",
    ]
