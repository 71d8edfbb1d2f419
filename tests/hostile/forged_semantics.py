"""Repositories that change what a failing test's own words mean: file names and contents.

The test runs as it is written. What it calls, compares with or stands in gives it what it asks for.
"""

QUIET = "class Quiet:\n    def __init__(self, *a, **k): pass\n    def __enter__(self): return self\n    def __exit__(self, *error): return True\n"
RAISES = (
    "import pytest\ndef test_target():\n    with pytest.raises(ValueError):\n        int('1')\n"
)
WARNS = "import pytest\ndef test_target():\n    with pytest.warns(UserWarning):\n        int('1')\n"
NEAR = "import pytest\ndef test_target():\n    assert 1 + 1 == pytest.approx(3)\n"
FAILS = "import pytest\ndef test_target():\n    if 1 + 1 != 3:\n        pytest.fail('no')\n"
CASE = "import unittest\nclass T(unittest.TestCase):\n    def test_target(self):\n        self.assertEqual(1 + 1, 3)\n"
CASE_RAISES = "import unittest\nclass T(unittest.TestCase):\n    def test_target(self):\n        with self.assertRaises(ValueError):\n            int('1')\n"
AWAITED = "async def test_target():\n    assert 1 + 1 == 3\n"
ANY = "class Any:\n    def __init__(self, *a, **k): pass\n    def __eq__(self, other): return True\n    __req__ = __eq__\n"

FORMS: dict[str, str | dict[str, str]] = {
    # --- helpers of the runner ----------------------------------------------------------------
    "pytest's raises": {"conftest.py": QUIET + "import pytest\npytest.raises = Quiet\n", "test_a.py": RAISES},
    "pytest's warns": {"conftest.py": QUIET + "import pytest\npytest.warns = Quiet\n", "test_a.py": WARNS},
    "pytest's approx": {"conftest.py": ANY + "import pytest\npytest.approx = Any\n", "test_a.py": NEAR},
    "pytest's fail": {"conftest.py": "import pytest\npytest.fail = print\n", "test_a.py": FAILS},
    "pytest's raises for one test": {
        "conftest.py": QUIET + "import pytest\n@pytest.fixture(autouse=True)\ndef quiet():\n    old, pytest.raises = pytest.raises, Quiet\n    yield\n    pytest.raises = old\n",
        "test_a.py": RAISES,
    },
    "the warning recorder's end": {
        "conftest.py": "from _pytest.recwarn import WarningsChecker\nWarningsChecker.__exit__ = lambda self, *error: True\n",
        "test_a.py": WARNS,
    },
    "a module in the place of pytest": {
        "conftest.py": QUIET + "import sys, types, pytest\nfake = types.ModuleType('pytest'); fake.__dict__.update(vars(pytest))\nfake.raises = Quiet\nsys.modules['pytest'] = fake\n",
        "test_a.py": RAISES,
    },
    "raises in the test's globals": {
        "conftest.py": QUIET + "import types, pytest\nfake = types.SimpleNamespace(raises=Quiet)\ndef pytest_runtest_setup(item):\n    item.module.pytest = fake\n",
        "test_a.py": RAISES,
    },
    # --- assertions of a case -------------------------------------------------------------------
    "an instance's own assertEqual": {
        "conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef quiet(request):\n    request.instance.assertEqual = print\n",
        "test_a.py": CASE,
    },
    "a class's own assertEqual": {
        "conftest.py": "def pytest_collection_modifyitems(items):\n    for item in items: item.cls.assertEqual = print\n",
        "test_a.py": CASE,
    },
    "a class's own assertRaises": {
        "conftest.py": QUIET + "def pytest_collection_modifyitems(items):\n    for item in items: item.cls.assertRaises = Quiet\n",
        "test_a.py": CASE_RAISES,
    },
    "a case's equality functions": {
        "conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef quiet(request):\n    request.instance.addTypeEqualityFunc(int, lambda *a, **k: None)\n",
        "test_a.py": CASE,
    },
    "a case's getter": {
        "conftest.py": "import pytest, _pytest.unittest as u\ndef pytest_collection_modifyitems(items):\n    for item in items:\n        item.cls.__getattribute__ = lambda self, name: print if name == 'assertEqual' else object.__getattribute__(self, name)\n",
        "test_a.py": CASE,
    },
    "a failure that is no error": {
        "conftest.py": "import pytest\nclass Calm(Exception):\n    pass\n@pytest.fixture(autouse=True)\ndef quiet(request):\n    request.instance.failureException = Calm\n"
        "@pytest.hookimpl(hookwrapper=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    o = yield\n    if o.excinfo: o.force_result(True)\n",
        "test_a.py": CASE,
    },
    # --- awaiting, and what a call gives ------------------------------------------------------------
    "a coroutine that is begun only": {
        "conftest.py": "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    pyfuncitem.obj().close()\n    return True\n",
        "test_a.py": AWAITED,
    },
    "a coroutine run by a liar": {
        "conftest.py": "import asyncio, pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    try: asyncio.run(pyfuncitem.obj())\n    except AssertionError: pass\n    return True\n",
        "test_a.py": AWAITED,
    },
    # --- sources by other ways ----------------------------------------------------------------------
    "the opener of paths": "import io, pathlib, types\nfake = types.ModuleType('io'); fake.__dict__.update(vars(io))\n"
    "class Other(io.BytesIO):\n    pass\n"
    "def lying(path, mode='r', *a, **k):\n    found = io.open(path, mode, *a, **k)\n    return Other(found.read().replace(b'== 3', b'== 2')) if str(path).endswith('test_a.py') and 'b' in mode else found\n"
    "fake.open = lying\npathlib.io = fake\n",
    "a folded program": "import ast, _pytest.assertion.rewrite as r\nold = ast.parse\n"
    "class Fold(ast.NodeTransformer):\n    def visit_Compare(self, node):\n        try: wrong = not eval(compile(ast.Expression(node), '', 'eval'), {})\n        except Exception: return node\n"
    "        return ast.copy_location(ast.Constant(True), node) if wrong and '1 + 1' in ast.unparse(node) else node\n"
    "ast.parse = lambda *a, **k: ast.fix_missing_locations(Fold().visit(old(*a, **k)))\n",
    "a folded program by the loader": "import ast, sys, importlib.util, importlib.machinery\n"
    "class Fold(ast.NodeTransformer):\n    def visit_Compare(self, node):\n"
    "        return ast.copy_location(ast.Constant(True), node) if '1 + 1' in ast.unparse(node) else node\n"
    "class Loader(importlib.machinery.SourceFileLoader):\n    def get_code(self, name):\n        path = self.get_filename(name)\n"
    "        tree = ast.fix_missing_locations(Fold().visit(ast.parse(self.get_data(path))))\n        return compile(tree, path, 'exec')\n"
    "class Finder:\n    def find_spec(self, name, path=None, target=None):\n        if name.startswith('test_'):\n"
    "            import os\n            where = os.path.join(os.path.dirname(__file__), name + '.py')\n"
    "            return importlib.util.spec_from_file_location(name, where, loader=Loader(name, where)) if os.path.exists(where) else None\n"
    "sys.meta_path.insert(0, Finder())\n",
    "a codec": {
        "conftest.py": "import codecs, encodings.utf_8 as u\n"
        "def decode(data, errors='strict'):\n    text, size = codecs.utf_8_decode(bytes(data), errors, True)\n    return text.replace('== 3', '== 2'), size\n"
        "codecs.register(lambda name: codecs.CodecInfo(u.encode, decode, name='odd') if name == 'odd' else None)\n",
        "test_a.py": "# coding: odd\ndef test_target():\n    assert 1 + 1 == 3\n",
    },
    # --- plugins and time -------------------------------------------------------------------------
    "a thread that unpatches": "import threading, _pytest.python as p\nold = p.Function.runtest\np.Function.runtest = lambda self: None\n"
    "def back():\n    import time; time.sleep(0.05); p.Function.runtest = old\nthreading.Thread(target=back).start()\n",
    "a destructor at the end": "import pytest\nclass End:\n    def __init__(self, item): self.item = item\n    def __del__(self):\n        self.item.rep_call.outcome = 'passed'\n"
    "@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    o = yield\n    report = o.get_result()\n    item.rep_call = report\n    if call.when == 'call': End(item)\n",
    "a report that changes as it is read": "import pytest\n@pytest.hookimpl(hookwrapper=True, tryfirst=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    o = yield\n    report = o.get_result()\n    class Calm(type(report)):\n        outcome = property(lambda self: 'passed', lambda self, value: None)\n        failed = property(lambda self: False)\n"
    "    report.__dict__.pop('outcome', None)\n    report.__class__ = Calm\n",
    "an error that says nothing": "import pytest\n@pytest.hookimpl(hookwrapper=True, tryfirst=True)\ndef pytest_runtest_call(item):\n"
    "    o = yield\n    if o.excinfo: o._exception = None; o._result = None\n",
}  # fmt: skip
REPOSITORIES = {
    name: {"conftest.py": form} if isinstance(form, str) else form for name, form in FORMS.items()
}
