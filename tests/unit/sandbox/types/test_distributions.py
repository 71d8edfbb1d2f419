"""The table of well-known modules and their distributions."""

import re

from sandbox.types.distributions import DISTRIBUTIONS, distribution_of


def test_a_module_inside_of_a_package_is_the_packages() -> None:
    assert distribution_of("yaml.nodes") == "PyYAML"
    assert distribution_of("unheard_of") is None


def test_names_of_the_table_are_names() -> None:
    for module, distribution in DISTRIBUTIONS.items():
        assert re.fullmatch(r"[A-Za-z_][\w.]*", module)
        assert re.fullmatch(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?", distribution)
