"""Repositories that keep a failing test from running, or run something else in its place: file names and contents."""

MAKEITEM = """
import pytest
class Mine(pytest.Function):
    {body}
def pytest_pycollect_makeitem(collector, name, obj):
    if {when}:
        return Mine.from_parent(collector, name=name)
"""
"""A subclass of the item; `when` spares what a canary may look like."""

EXCHANGED = """
import pytest
class Mine(pytest.Function):
    {body}
{hook}
"""
"""The class of a collected item, exchanged at some moment."""

PYFUNC = """
import inspect, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if {when}:
        return True
"""
"""A hook that answers in the test's place, and runs canaries honestly."""

NO_RUN = "def runtest(self): pass"
IN_SOURCE = "name.startswith('test') and 'def %s(' % name in open(str(collector.path)).read()"
SWAPPED_SOURCE = """
import sys, importlib.util, importlib.machinery
TEXT = "def test_target():\\n    pass\\n"
def swapped(path):
    code = compile(TEXT, path, "exec")
    consts = tuple(c.replace(co_filename=path, co_firstlineno=1) if hasattr(c, "co_code") else c for c in code.co_consts)
    return code.replace(co_filename=path, co_consts=consts)
"""
REWRITE = "import _pytest.assertion.rewrite as rewrite, ast\n"
RESTORED = "def pytest_unconfigure(config):\n    undo()\n"
REMADE = "import types\ndef nothing(*args, **named): return None\n"

FORMS: dict[str, str | dict[str, str]] = {
    # --- the item's class ---------------------------------------------------------------------
    "subclass of the item": MAKEITEM.format(body=NO_RUN, when="name.startswith('test')"),
    "subclass for names in the source": MAKEITEM.format(body=NO_RUN, when=IN_SOURCE),
    "subclass with a foreign obj": MAKEITEM.format(
        body="obj = property(lambda self: (lambda *a: None), lambda self, value: None)",
        when=IN_SOURCE,
    ),
    "subclass with a foreign _getobj": MAKEITEM.format(
        body="def _getobj(self): return lambda *a: None", when=IN_SOURCE
    ),
    "subclass that reads runtest elsewhere": MAKEITEM.format(
        body="def __getattribute__(self, name):\n"
        "        return (lambda: None) if name == 'runtest' else super().__getattribute__(name)",
        when=IN_SOURCE,
    ),
    "subclass that catches": MAKEITEM.format(
        body="def runtest(self):\n        try: super().runtest()\n        except BaseException: pass",
        when=IN_SOURCE,
    ),
    "class exchanged after collection": EXCHANGED.format(
        body=NO_RUN,
        hook="def pytest_collection_modifyitems(items):\n    for item in items: item.__class__ = Mine",
    ),
    "class exchanged by a fixture": EXCHANGED.format(
        body=NO_RUN,
        hook="@pytest.fixture(autouse=True)\ndef exchange(request):\n    request.node.__class__ = Mine",
    ),
    "class exchanged for the call and back": EXCHANGED.format(
        body=NO_RUN,
        hook="@pytest.hookimpl(hookwrapper=True, tryfirst=True)\ndef pytest_runtest_call(item):\n"
        "    before = item.__class__\n    if item.name == 'test_target': item.__class__ = Mine\n"
        "    yield\n    item.__class__ = before",
    ),
    "bases of the item's class": "import pytest\nclass Base:\n    def runtest(self): pass\n"
    "class Mine(Base, pytest.Function): pass\n"
    "def pytest_collection_modifyitems(items):\n    for item in items: item.__class__ = Mine\n",
    "instance attribute for the call": "import pytest\n@pytest.hookimpl(hookwrapper=True, tryfirst=True)\n"
    "def pytest_runtest_call(item):\n    yield\n"
    "@pytest.fixture(autouse=True)\ndef f(request):\n"
    "    class D(dict):\n        pass\n    request.node.runtest = lambda: None\n",
    # --- the hook that calls the function -------------------------------------------------------
    "call answered by module name": PYFUNC.format(
        when="pyfuncitem.obj.__module__.endswith('test_a')"
    ),
    "call answered by the module": PYFUNC.format(
        when="getattr(inspect.getmodule(pyfuncitem.function), '__file__', '').endswith('test_a.py')"
    ),
    "call answered by globals": PYFUNC.format(
        when="pyfuncitem.function.__globals__.get('__name__', '').endswith('test_a')"
    ),
    "call answered by file name": PYFUNC.format(
        when="inspect.unwrap(pyfuncitem.function).__code__.co_filename.endswith('test_a.py')"
    ),
    "call answered by source": PYFUNC.format(
        when="'1 + 1 == 3' in open(inspect.unwrap(pyfuncitem.function).__code__.co_filename).read()"
    ),
    "call answered by name and line": PYFUNC.format(
        when="pyfuncitem.name == 'test_target' and pyfuncitem.reportinfo()[1] == 0"
    ),
    "call wrapped by module name": "import pytest\n@pytest.hookimpl(hookwrapper=True, tryfirst=True)\n"
    "def pytest_pyfunc_call(pyfuncitem):\n    outcome = yield\n"
    "    if pyfuncitem.obj.__module__.endswith('test_a'): outcome.force_result(True)\n",
    "call with a foreign obj": "import pytest\n@pytest.hookimpl(tryfirst=True)\n"
    "def pytest_pyfunc_call(pyfuncitem):\n"
    "    if pyfuncitem.obj.__module__.endswith('test_a'): pyfuncitem.obj = lambda **k: None\n",
    "call with foreign wrapped": "import pytest\n@pytest.hookimpl(tryfirst=True)\n"
    "def pytest_pyfunc_call(pyfuncitem):\n"
    "    if pyfuncitem.obj.__module__.endswith('test_a'):\n"
    "        for cell in getattr(pyfuncitem.obj, '__closure__', None) or ():\n"
    "            if callable(cell.cell_contents): cell.cell_contents = lambda *a, **k: None\n",
    # --- how hooks are called -------------------------------------------------------------------
    "inner hookexec": "def pytest_configure(config):\n    manager = config.pluginmanager\n"
    "    old = manager._inner_hookexec\n"
    "    def run(name, impls, kwargs, first):\n"
    "        if name == 'pytest_pyfunc_call' and kwargs['pyfuncitem'].name == 'test_target': return True\n"
    "        return old(name, impls, kwargs, first)\n    manager._inner_hookexec = run\n",
    "hook implementation replaced": "def pytest_collection_modifyitems(config, items):\n"
    "    for impl in config.hook.pytest_pyfunc_call.get_hookimpls(): impl.function = lambda pyfuncitem: True\n",
    "reporter's implementations removed": "def pytest_collection_modifyitems(config, items):\n"
    "    for name in ('pytest_runtest_call', 'pytest_pyfunc_call', 'pytest_runtest_makereport'):\n"
    "        caller = getattr(config.hook, name)\n"
    "        for impl in list(caller.get_hookimpls()):\n"
    "            if type(impl.plugin).__name__ == 'Reporter': caller._remove_plugin(impl.plugin)\n"
    "    import _pytest.python as p\n    p.Function.runtest = lambda self: None\n",
    "hook proxy of the session": "class Hooks:\n    def __init__(self, real): self.real = real\n"
    "    def __getattr__(self, name):\n"
    "        return (lambda **k: True) if name == 'pytest_pyfunc_call' else getattr(self.real, name)\n"
    "def pytest_collection_finish(session):\n    real = session.gethookproxy\n"
    "    session.gethookproxy = lambda path: Hooks(real(path))\n    session._fs2hookproxy = {}\n",
    "multicall patched": "import pluggy._callers as c, pluggy._manager as m\n"
    "import sys\nfor module in [v for k, v in sys.modules.items() if k.startswith('pluggy')]:\n"
    "    old = getattr(module, '_multicall', None)\n    if old is None: continue\n"
    "    def run(name, *a, _old=old, **k):\n"
    "        return True if name == 'pytest_pyfunc_call' else _old(name, *a, **k)\n    module._multicall = run\n"
    "def pytest_configure(config):\n"
    "    config.pluginmanager._inner_hookexec = sys.modules['pluggy._callers']._multicall\n",
    # --- what runs an item, for a moment ---------------------------------------------------------
    "code of runtest": REMADE
    + "from _pytest.python import Function\nold = Function.runtest.__code__\n"
    "Function.runtest.__code__ = (lambda self: None).__code__\n"
    "def undo(): Function.runtest.__code__ = old\n" + RESTORED,
    "code of the function call": REMADE
    + "import _pytest.python as p\nold = p.pytest_pyfunc_call.__code__\n"
    "p.pytest_pyfunc_call.__code__ = (lambda pyfuncitem: True).__code__\n"
    "def undo(): p.pytest_pyfunc_call.__code__ = old\n" + RESTORED,
    "code of from_call, and back": "import pytest, _pytest.runner as r\nreal = r.CallInfo.from_call.__func__.__code__\n"
    "def quiet(cls, func, when, reraise=None): return cls(None, None, 0.0, 0.0, 0.0, when, _ispytest=True)\n"
    "@pytest.hookimpl(hookwrapper=True, tryfirst=True)\ndef pytest_runtest_protocol(item):\n"
    "    r.CallInfo.from_call.__func__.__code__ = quiet.__code__\n    yield\n"
    "    r.CallInfo.from_call.__func__.__code__ = real\n",
    "pytest_runtest_call of the runner, and back": "import pytest, _pytest.runner as r\n"
    "def pytest_runtest_setup(item):\n    global old\n    old = r.pytest_runtest_call.__code__\n"
    "    r.pytest_runtest_call.__code__ = (lambda item: None).__code__\n"
    "def pytest_runtest_teardown(item):\n    r.pytest_runtest_call.__code__ = old\n",
    "runner reloaded": "import importlib, _pytest.runner as r, _pytest.python as p\nimportlib.reload(r)\n"
    "p.Function.runtest = lambda self: None\nimportlib.reload(p)\n"
    "def pytest_collection_modifyitems(items):\n    for i in items: i.obj = lambda: None\n",
    "modules swapped": "import sys, types, _pytest.python as p\n"
    "fake = types.ModuleType('_pytest.python'); fake.__dict__.update(vars(p)); sys.modules['_pytest.python'] = fake\n"
    "p.Function.runtest = lambda self: None\n",
    "own protocol that lies": "from _pytest.runner import runtestprotocol, CallInfo\n"
    "import pytest\ndef pytest_runtest_protocol(item, nextitem):\n"
    "    item.ihook.pytest_runtest_setup(item=item)\n    call = CallInfo.from_call(lambda: None, 'call')\n"
    "    for when in ('setup', 'call', 'teardown'):\n"
    "        call = CallInfo.from_call(lambda: None, when)\n"
    "        report = item.ihook.pytest_runtest_makereport(item=item, call=call)\n"
    "        item.ihook.pytest_runtest_logreport(report=report)\n    return True\n",
    "call hook with a stand-in": "import pytest, copy\n@pytest.hookimpl(tryfirst=True)\n"
    "def pytest_runtest_protocol(item, nextitem):\n    from _pytest.runner import runtestprotocol\n"
    "    twin = copy.copy(item); twin._obj = lambda: None\n"
    "    runtestprotocol(twin, nextitem=nextitem)\n    return True\n",
    # --- source and import -----------------------------------------------------------------------
    "rewriter's run": REWRITE
    + "rewrite.AssertionRewriter.run = lambda self, mod: mod.body.__setitem__(\n"
    "    slice(None), ast.parse('def test_target():\\n    pass\\n').body)\n",
    "rewriter's visit_Assert": REWRITE
    + "rewrite.AssertionRewriter.visit_Assert = lambda self, node: [ast.copy_location(ast.Pass(), node)]\n",
    "rewriter's visit_Assert, by code": REWRITE
    + "def visit(self, node): return [ast.copy_location(ast.Pass(), node)]\n"
    "visit.__globals__['ast'] = ast\nrewrite.AssertionRewriter.visit_Assert.__code__ = visit.__code__\n",
    "rewriter's visit_Assert, and back": REWRITE + "old = rewrite.AssertionRewriter.visit_Assert\n"
    "rewrite.AssertionRewriter.visit_Assert = lambda self, node: [ast.copy_location(ast.Pass(), node)]\n"
    "def undo(): rewrite.AssertionRewriter.visit_Assert = old\n"
    "def pytest_collection_finish(session):\n    undo()\n",
    "_rewrite_test": REWRITE + SWAPPED_SOURCE + "import os\n"
    "old = rewrite._rewrite_test\ndef lying(fn, config):\n"
    "    stat, code = old(fn, config)\n    return stat, swapped(str(fn)) if fn.name == 'test_a.py' else code\n"
    "rewrite._rewrite_test = lying\n",
    "_rewrite_test, and back": REWRITE + SWAPPED_SOURCE + "old = rewrite._rewrite_test\n"
    "def lying(fn, config):\n    stat, code = old(fn, config)\n"
    "    return stat, swapped(str(fn)) if fn.name == 'test_a.py' else code\nrewrite._rewrite_test = lying\n"
    "def pytest_collection_finish(session): rewrite._rewrite_test = old\n",
    "_read_pyc": REWRITE
    + SWAPPED_SOURCE
    + "rewrite._read_pyc = lambda source, pyc, trace=None: swapped(str(source)) if source.name == 'test_a.py' else None\n",
    "compile of the rewriter": REWRITE
    + SWAPPED_SOURCE
    + "def lying(tree, path, *a, **k):\n    return swapped(path) if path.endswith('test_a.py') else compile(tree, path, *a, **k)\n"
    "rewrite.compile = lying\n",
    "ast of the rewriter": REWRITE
    + "import types\nfake = types.ModuleType('ast'); fake.__dict__.update(vars(ast))\n"
    "fake.parse = lambda source, *a, **k: ast.parse(b'def test_target():\\n    pass\\n' if b'1 + 1 == 3' in source else source, *a, **k)\n"
    "rewrite.ast = fake\n",
    "read_bytes of paths": "import pathlib\nold = pathlib.Path.read_bytes\n"
    "pathlib.Path.read_bytes = lambda self: old(self).replace(b'== 3', b'== 2')\n",
    "loader's code": REWRITE
    + SWAPPED_SOURCE
    + "import os\nclass Loader:\n    def __init__(self, path): self.path = path\n"
    "    def create_module(self, spec): return None\n"
    "    def exec_module(self, module): exec(swapped(self.path), module.__dict__)\n"
    "class Finder:\n    def find_spec(self, name, path=None, target=None):\n"
    "        if name.rpartition('.')[2] == 'test_a':\n"
    "            where = os.path.join(os.path.dirname(__file__), 'test_a.py')\n"
    "            return importlib.util.spec_from_file_location(name, where, loader=Loader(where))\n"
    "sys.meta_path.insert(0, Finder())\n",
    "code with its place replaced": "def pytest_collectstart(collector):\n"
    "    module = getattr(collector, 'obj', None)\n"
    "    if getattr(module, '__name__', '').endswith('test_a'):\n"
    "        function = module.test_target\n        old = function.__code__\n"
    "        function.__code__ = (lambda: None).__code__.replace(co_filename=old.co_filename,\n"
    "            co_firstlineno=old.co_firstlineno, co_name=old.co_name)\n",
    "function rebuilt with its place": "import types\ndef pytest_pycollect_makeitem(collector, name, obj):\n"
    "    if name == 'test_target':\n        old = obj.__code__\n"
    "        code = (lambda: None).__code__.replace(co_filename=old.co_filename,\n"
    "            co_firstlineno=old.co_firstlineno, co_name=old.co_name)\n"
    "        setattr(collector.obj, name, types.FunctionType(code, obj.__globals__, name))\n",
    "constants replaced in the code": "def pytest_pycollect_makeitem(collector, name, obj):\n"
    "    if name == 'test_target':\n        old = obj.__code__\n"
    "        obj.__code__ = old.replace(co_consts=tuple(2 if c == 3 else c for c in old.co_consts))\n",
    "exec of a new test after the import": "def pytest_collectstart(collector):\n"
    "    module = getattr(collector, 'obj', None)\n    if getattr(module, '__name__', '').endswith('test_a'):\n"
    "        exec(compile('def test_target(): pass', module.__file__, 'exec'), module.__dict__)\n",
    "source exchanged on disk": "import os\nhere = os.path.join(os.path.dirname(__file__), 'test_a.py')\n"
    "text = open(here).read()\nopen(here, 'w').write('def test_target():\\n    pass\\n')\n"
    "def pytest_unconfigure(config): open(here, 'w').write(text)\n",
    "source exchanged by a rename": {
        "conftest.py": "import os\nhere = os.path.dirname(__file__)\n"
        "os.rename(here + '/test_a.py', here + '/aside.py'); os.rename(here + '/other.py', here + '/test_a.py')\n",
        "other.py": "def test_target():\n    pass\n",
    },
    "line cache and source": "import linecache, inspect\ninspect.getsource = lambda o: 'def test_target(): pass\\n'\n"
    "def pytest_collectstart(collector):\n    module = getattr(collector, 'obj', None)\n"
    "    if getattr(module, '__name__', '').endswith('test_a'): module.test_target = lambda: None\n",
    "decorated in passing": "import functools\ndef pytest_pycollect_makeitem(collector, name, obj):\n"
    "    if name == 'test_target' and not hasattr(obj, '__wrapped__'):\n"
    "        @functools.wraps(obj)\n        def quiet(*a, **k):\n"
    "            try: return obj(*a, **k)\n            except AssertionError: return None\n"
    "        setattr(collector.obj, name, quiet)\n",
    "build_class": {
        "conftest.py": "import builtins\nold = builtins.__build_class__\n"
        "def build(function, name, *bases, **named):\n    made = old(function, name, *bases, **named)\n"
        "    if name == 'TestThis': made.test_target = lambda self: None\n    return made\nbuiltins.__build_class__ = build\n",
        "test_a.py": "class TestThis:\n    def test_target(self):\n        assert 1 + 1 == 3\n",
    },
    "other globals for the same code": {
        "conftest.py": "import types\ndef pytest_pycollect_makeitem(collector, name, obj):\n"
        "    if name == 'test_target':\n"
        "        other = dict(obj.__globals__, add=lambda a, b: 3)\n"
        "        setattr(collector.obj, name, types.FunctionType(obj.__code__, other, name))\n",
        "product.py": "def add(a, b):\n    return a + b\n",
        "test_a.py": "from product import add\ndef test_target():\n    assert add(1, 1) == 3\n",
    },
}
REPOSITORIES = {
    name: {"conftest.py": form} if isinstance(form, str) else form for name, form in FORMS.items()
}
