"""Statements outside functions inherit from the lines that read what they bind, through imports too."""

from pathlib import Path

import pytest

from sandbox.guest.search.locate.code import CodeFile, Modules, module_name, read_files
from sandbox.guest.search.locate.outside import Outside, Scores, head_lines

FILES = {
    "pkg/__init__.py": "from pkg.rates import RATE\n",
    "pkg/rates.py": "import re\n\nBASE = 3\nRATE = BASE + 4\nOTHER = 9\nWORD = re.compile('a+')\n",
    "pkg/shop.py": (
        "from functools import lru_cache\n\nfrom pkg import rates\nfrom .rates import RATE, OTHER\n\nTABLE = {}\nTABLE['x'] = 1\n\n\n"
        "class Base:\n    limit = 3\n\n\nclass Cart(Base):\n    size: int = 5\n\n"
        "    @lru_cache(8)\n    def net(self, price, off=1):\n        if price > self.limit:\n            return rates.WORD\n"
        "        return price * RATE - off\n\n    def shown(self):\n        return TABLE, OTHER\n"
    ),
}


def read(folder: Path, texts: dict[str, str], names: list[str]) -> dict[str, CodeFile]:
    """Write files into a folder; return those that are read from these names on."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return read_files(str(folder), names, texts)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, CodeFile]:
    return read(tmp_path, FILES, ["pkg/shop.py"])


def scores(files: dict[str, CodeFile], name: str, lines: dict[int, float]) -> Scores:
    unit = next(u for u in files["pkg/shop.py"].units if u.names[-1] == name)
    outside = Outside(files, Modules(FILES))
    return outside.scores(
        [(unit, max(lines.values()))], {("pkg/shop.py", n): s for n, s in lines.items()}
    )


def test_files_that_are_imported_are_read_too(files: dict[str, CodeFile]) -> None:
    assert set(files) == set(FILES)


def test_a_constant_inherits_through_an_import_and_what_it_is_made_of_a_little_less(
    files: dict[str, CodeFile],
) -> None:
    found = scores(files, "net", {19: 0.2, 21: 1.0})
    assert found["pkg/rates.py", 4][0] > found["pkg/rates.py", 3][0] > 0
    assert found["pkg/rates.py", 4][1] == "binds RATE, read by Cart.net"
    assert 0 < found["pkg/shop.py", 4][0] < found["pkg/rates.py", 4][0]
    assert ("pkg/rates.py", 5) not in found


def test_what_only_lines_read_that_did_not_run_is_not_suspect(files: dict[str, CodeFile]) -> None:
    assert ("pkg/rates.py", 6) not in scores(files, "net", {19: 0.2, 21: 1.0})
    assert ("pkg/rates.py", 6) in scores(files, "net", {19: 0.2, 20: 1.0})


def test_class_attributes_defaults_and_decorators_inherit(files: dict[str, CodeFile]) -> None:
    found = scores(files, "net", {19: 1.0, 21: 0.5})
    assert found["pkg/shop.py", 11][0] > 0.3
    assert found["pkg/shop.py", 15][0] > 0
    assert found["pkg/shop.py", 17][0] == found["pkg/shop.py", 18][0] > 0.3


def test_an_attribute_of_a_class_in_another_file_is_suspect_too(tmp_path: Path) -> None:
    texts = {
        "base.py": "class Base:\n    limit = 3\n\n    def fits(self, n):\n        return n <= self.limit\n",
        "wide.py": "from base import Base\n\n\nclass Wide(Base):\n    limit = 8\n",
    }
    files = read(tmp_path, texts, ["base.py", "wide.py"])
    found = Outside(files, Modules(texts)).scores(
        [(files["base.py"].units[0], 1.0)], {("base.py", 5): 1.0}
    )
    assert found["base.py", 2][0] == found["wide.py", 5][0] > 0.3


def test_a_default_inherits_from_the_lines_that_read_its_parameter(
    files: dict[str, CodeFile],
) -> None:
    found = scores(files, "net", {19: 0.1, 21: 1.0})
    assert found["pkg/shop.py", 18][0] > found["pkg/shop.py", 17][0]


def test_statements_that_fill_a_table_belong_to_it(files: dict[str, CodeFile]) -> None:
    found = scores(files, "shown", {24: 1.0})
    assert found["pkg/shop.py", 6][0] == found["pkg/shop.py", 7][0] > 0


def test_functions_that_make_a_constant_run_at_import_and_are_suspect(tmp_path: Path) -> None:
    texts = {
        "tools.py": "def build(n):\n    found = list(range(n))\n    return found\n",
        "shop.py": "from tools import build\n\nSIZES = build(3)\n\n\ndef net(i):\n    return SIZES[i]\n",
    }
    files = read(tmp_path, texts, ["shop.py"])
    found = Outside(files, Modules(files)).scores(
        [(files["shop.py"].units[0], 1.0)], {("shop.py", 7): 1.0}
    )
    assert found["shop.py", 3][0] > found["tools.py", 2][0] == found["tools.py", 3][0] > 0.3
    assert ("tools.py", 1) not in found


def test_heads_without_defaults_and_decorators_have_nothing_to_edit(
    files: dict[str, CodeFile],
) -> None:
    assert (
        head_lines(next(u for u in files["pkg/shop.py"].units if u.names[-1] == "shown").node) == {}
    )


def test_modules_are_found_by_every_way_to_name_them() -> None:
    modules = Modules(["src/pkg/__init__.py", "src/pkg/deep/one.py", "top.py"])
    assert module_name("src/pkg/__init__.py") == "src.pkg"
    assert modules.find("pkg.deep.one", 0, "top.py") == "src/pkg/deep/one.py"
    assert modules.find("deep.one", 1, "src/pkg/__init__.py") == "src/pkg/deep/one.py"
    assert modules.find("", 2, "src/pkg/deep/one.py") == "src/pkg/__init__.py"
    assert modules.find("top", 0, "src/pkg/__init__.py") == "top.py"
    assert modules.find("os", 0, "top.py") is None
    assert modules.find("", 9, "top.py") is None


def test_statements_of_a_nested_class_inherit_from_the_outer_one(tmp_path: Path) -> None:
    texts = {
        "models.py": "class Order:\n    size = 3\n\n    class Meta:\n        ordering = ['id']\n",
        "views.py": "from models import Order\n\n\ndef orders():\n    return Order.objects.all()\n",
    }
    files = read(tmp_path, texts, ["views.py"])
    unit = next(iter(files["views.py"].units))
    found = Outside(files, Modules(texts)).scores([(unit, 1.0)], {("views.py", 5): 1.0})
    assert found["models.py", 5][1] == "in class Order, read by orders"
    assert found["models.py", 5][0] == found["models.py", 2][0] > 0
