"""pytest, Sphinx, setuptools and other development tools, from their change logs."""

from __future__ import annotations

from sandbox.guest.search.candidates.successors.notation import Renames, Rewrite, table

RENAMES = Renames(
    modules=table("""
sphinx.util.compat -> docutils.parsers.rst
pkg_resources -> importlib.metadata
pip.req pip.download -> pip._internal.req
pip._vendor.six -> six
nose.tools -> unittest
"""),
    names=table("""
pytest.yield_fixture -> pytest.fixture
pytest.collect.File -> pytest.File
pytest.config -> pytest.Config
pkg_resources.parse_version -> packaging.version.parse
pkg_resources.get_distribution -> importlib.metadata.distribution
pkg_resources.iter_entry_points -> importlib.metadata.entry_points
pkg_resources.DistributionNotFound -> importlib.metadata.PackageNotFoundError
packaging.version.LegacyVersion -> packaging.version.Version
dateutil.zoneinfo.gettz -> dateutil.tz.gettz
markdown.util.etree -> xml.etree.ElementTree
sphinx.util.compat.Directive -> docutils.parsers.rst.Directive
sphinx.util.status_iterator -> sphinx.util.display.status_iterator
sphinx.util.jsdump -> json
nose.tools.assert_equal nose.tools.eq_ -> unittest.TestCase().assertEqual
hypothesis.searchstrategy.SearchStrategy -> hypothesis.strategies.SearchStrategy
cryptography.hazmat.backends.openssl.backend -> cryptography.hazmat.backends.default_backend
"""),
    attributes=table("""
text_as_unicode -> text
add_stylesheet -> add_css_file
add_javascript -> add_js_file
funcargnames -> fixturenames
getfuncargvalue getfixturefunction -> getfixturevalue
get_marker -> get_closest_marker
fspath -> path
makeitem -> from_parent
"""),
    keywords=table("""
message -> match
"""),
    rewrites=(
        Rewrite(
            "get_distribution",
            "importlib.metadata.distribution({args})",
            "import importlib.metadata",
        ),
        Rewrite(
            "__version__", "importlib.metadata.version({module!r})", "import importlib.metadata"
        ),
    ),
)
"""Renamed, moved and removed names."""
