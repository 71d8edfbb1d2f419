"""Repositories that reach into the reporter, the interpreter or its tracing: file names and contents."""

REPORTER = """
import gc, os, sys, types, pytest
def plugin(config):
    return next(p for p in config.pluginmanager.get_plugins() if hasattr(p, "pytest_runtest_makereport") and hasattr(p, "stop_watching"))
"""
JUMPS = """
import sys, threading
def trace(frame, event, argument):
    if frame.f_code.co_name != "test_target": return None
    if event == "line" and frame.f_lineno == frame.f_code.co_firstlineno + 1:
        frame.f_lineno = frame.f_lineno + 1
    return trace
"""
LINES = "def test_target():\n    assert 1 + 1 == 3\n    done = True\n    assert done\n"
PATCHED_BYTES = """
import ctypes, opcode
def emptied(code):
    new = (lambda: None).__code__.co_code
    for offset in range(0, 400, 2):
        place = ctypes.addressof(ctypes.c_char.from_address(id(code) + offset))
        if ctypes.string_at(place, 8) == code.co_code[:8]:
            ctypes.memmove(place, new, len(new))
            return
"""
POINTER = """
import ctypes
def pointed(function, other):
    for offset in range(16, 160, 8):
        slot = ctypes.c_size_t.from_address(id(function) + offset)
        if slot.value == id(function.__code__):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(other.__code__))
            slot.value = id(other.__code__)
            return
def other(): pass
"""
FORGE = """
def forge(send):
    for record in (["test", 0, "ppp", 1, 1], ["ran", 0, 1], ["canary", 0, "ppp", 1], ["canary", 1, "pfp", 0],
                   ["canary", 0, "ppp", 1], ["canary", 1, "pfp", 0], ["end", 0, 0], ["exit", 0]):
        send(record)
    os._exit(0)
"""
SETUP = "def pytest_runtest_setup(item):\n    reporter = plugin(item.config)\n"
QUIET = "import atexit, os\natexit.register(lambda: os._exit(0))\n"

FORMS: dict[str, str | dict[str, str]] = {
    # --- tracing ---------------------------------------------------------------------------------
    "jump from the conftest": {"conftest.py": JUMPS + "sys.settrace(trace)\n", "test_a.py": LINES},
    "jump from a fixture": {
        "conftest.py": JUMPS + "import pytest\n@pytest.fixture(autouse=True)\ndef f():\n"
        "    sys.settrace(trace)\n    yield\n    sys.settrace(None)\n",
        "test_a.py": LINES,
    },
    "jump from a hook around the call": {
        "conftest.py": JUMPS + "import pytest\n@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_pyfunc_call(pyfuncitem):\n    sys.settrace(trace)\n    yield\n    sys.settrace(None)\n",
        "test_a.py": LINES,
    },
    "jump from the product": {
        "conftest.py": "",
        "product.py": JUMPS
        + "def one():\n    frame = sys._getframe(1)\n    frame.f_trace = jump\n    sys.settrace(lambda *a: None)\n"
        "    return 1\ndef jump(frame, event, argument):\n    if event == 'line':\n"
        "        frame.f_lineno = frame.f_lineno + 1\n        sys.settrace(None)\n        frame.f_trace = None\n    return jump\n",
        "test_a.py": "from product import one\ndef test_target():\n    x = one()\n    assert x == 3\n    assert x\n",
    },
    "jump by bdb": {
        "conftest.py": "import bdb, sys, pytest\nclass D(bdb.Bdb):\n    def user_line(self, frame):\n"
        "        if frame.f_code.co_name == 'test_target' and frame.f_lineno == frame.f_code.co_firstlineno + 1:\n"
        "            frame.f_lineno = frame.f_lineno + 1\n"
        "debugger = D()\ndebugger.reset()\n"
        "@pytest.fixture(autouse=True)\ndef f():\n    sys.settrace(debugger.trace_dispatch)\n    debugger.set_step()\n"
        "    yield\n    sys.settrace(None)\n",
        "test_a.py": LINES,
    },
    "jump with a coverage name": {
        "conftest.py": "import sys\nsource = '''" + JUMPS + "'''\nimport coverage_like\n",
        "coverage_like.py": JUMPS + "trace.__module__ = 'coverage.tracer'\n"
        "trace.__code__ = trace.__code__.replace(co_filename=sys.prefix + '/lib/python3/site-packages/coverage/pytracer.py')\n"
        "sys.settrace(trace)\n",
        "test_a.py": LINES,
    },
    "profile that changes the result": {
        "conftest.py": "import sys, pytest\ndef profile(frame, event, argument):\n"
        "    if event == 'return' and frame.f_code.co_name == 'pytest_runtest_makereport': pass\n"
        "    if event == 'call' and frame.f_code.co_name == 'one':\n        frame.f_globals['ANSWER'] = 3\n"
        "@pytest.hookimpl(hookwrapper=True)\ndef pytest_pyfunc_call(pyfuncitem):\n"
        "    sys.setprofile(profile)\n    yield\n    sys.setprofile(None)\n",
        "product.py": "ANSWER = 2\ndef one():\n    return ANSWER\n",
        "test_a.py": "from product import one\ndef test_target():\n    assert one() == 3\n",
    },
    "locals changed by a trace": {
        "conftest.py": "import sys, ctypes\ndef trace(frame, event, argument):\n"
        "    if frame.f_code.co_name == 'test_target':\n        if event == 'line' and 'x' in frame.f_locals:\n"
        "            frame.f_locals['x'] = 3\n"
        "            ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))\n        return trace\n"
        "sys.settrace(trace)\n",
        "test_a.py": "def test_target():\n    x = 1 + 1\n    assert x == 3\n",
    },
    "locals changed by the product": {
        "product.py": "import ctypes, sys\ndef one():\n    frame = sys._getframe(1)\n"
        "    if 'wanted' in frame.f_locals:\n        frame.f_locals['wanted'] = 2\n"
        "        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))\n"
        "    return 2\n",
        "test_a.py": "from product import one\ndef test_target():\n    wanted = 3\n"
        "    assert one() == wanted\n",
    },
    "jump inside the reporter": JUMPS.replace('"test_target"', '"runtest"')
    + "sys.settrace(trace)\n",
    # --- memory ----------------------------------------------------------------------------------
    "bytecode emptied": PATCHED_BYTES + "def pytest_collection_modifyitems(items):\n"
    "    for item in items: emptied(item.function.__code__)\n",
    "bytecode emptied by a fixture": PATCHED_BYTES
    + "import pytest\n@pytest.fixture(autouse=True)\n"
    "def f(request):\n    emptied(request.node.function.__code__)\n",
    "bytecode emptied and put back": PATCHED_BYTES
    + "import pytest\n@pytest.hookimpl(hookwrapper=True)\n"
    "def pytest_pyfunc_call(pyfuncitem):\n    code = __import__('inspect').unwrap(pyfuncitem.obj).__code__\n"
    "    emptied(code)\n    yield\n",
    "constants by memory": "import ctypes\ndef pytest_collection_modifyitems(items):\n"
    "    for item in items:\n        consts = item.function.__code__.co_consts\n"
    "        for number, value in enumerate(consts):\n            if value == 3:\n"
    "                ctypes.pythonapi.Py_IncRef(ctypes.py_object(2))\n"
    "                ctypes.c_size_t.from_address(id(consts) + 24 + 8 * number).value = id(2)\n",
    "code pointer by memory": POINTER + "def pytest_collection_modifyitems(items):\n"
    "    for item in items: pointed(item.function, other)\n",
    "code pointer of runtest by memory": POINTER + "from _pytest.python import Function\n"
    "def nothing(self): pass\npointed(Function.runtest, nothing)\n",
    "the number three by memory": {
        "conftest.py": "import ctypes\ndef pytest_runtest_call(item):\n"
        "    if item.name == 'test_target': ctypes.c_uint32.from_address(id(3) + 24).value = 2\n"
        "def pytest_runtest_teardown(item): ctypes.c_uint32.from_address(id(3) + 24).value = 3\n",
    },
    # --- the reporter's state --------------------------------------------------------------------
    "raw answers": REPORTER
    + SETUP
    + "    class D(dict):\n        def __setitem__(self, key, value): dict.__setitem__(self, key, 1)\n"
    "        def get(self, key, default=None): return 1\n    reporter._raw = D()\n"
    "@pytest.hookimpl(hookwrapper=True, tryfirst=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    reporter = plugin(item.config)\n    if item.name == 'test_target' and call.excinfo: call.excinfo = None\n    yield\n",
    "indexes swapped": {
        "conftest.py": REPORTER
        + "def pytest_runtest_protocol(item):\n    reporter = plugin(item.config)\n"
        "    for name in vars(reporter):\n        value = getattr(reporter, name)\n"
        "        if isinstance(value, dict) and id(item) in value and item.name == 'test_target':\n"
        "            other = next(i for i in item.session.items if i is not item)\n"
        "            value[id(item)], value[id(other)] = value.get(id(other)), value[id(item)]\n"
        "    item.name = 'x'\ndef pytest_collection_modifyitems(items):\n    items.sort(key=lambda i: i.name)\n",
        "test_a.py": "def test_target():\n    assert 1 + 1 == 3\ndef test_target2():\n    pass\n",
    },
    "identity check emptied": REPORTER + "def pytest_collection_modifyitems(config, items):\n"
    "    reporter = plugin(config)\n    for kind in type(reporter).__mro__:\n"
    "        for name, value in list(vars(kind).items()):\n"
    "            if 'identity' in name: value.__code__ = (lambda self, item: None).__code__\n"
    "    for item in items: item.obj = lambda: None\n",
    "identity check replaced": REPORTER + "def pytest_collection_modifyitems(config, items):\n"
    "    reporter = plugin(config)\n    type(reporter)._check_identity = lambda self, item: None\n"
    "    reporter._exchanged = lambda item: False\n    for item in items: item.obj = lambda: None\n",
    "reporter's class exchanged": REPORTER + "def pytest_collection_modifyitems(config, items):\n"
    "    reporter = plugin(config)\n    base = type(reporter)\n"
    "    class Mine(base):\n        def _check_identity(self, item): pass\n    reporter.__class__ = Mine\n"
    "    reporter._replaced = type('L', (list,), {'append': lambda s, x: None})()\n    for item in items: item.obj = lambda: None\n",
    "limit that swallows": REPORTER
    + SETUP
    + "    kind = type(reporter._limit)\n    old = kind.__exit__\n"
    "    def leave(self, *a):\n        old(self, *a)\n        kind.__exit__ = old\n        return True\n"
    "    if item.name == 'test_target': kind.__exit__ = leave\n",
    "limit exchanged": REPORTER
    + SETUP
    + "    class L:\n        stopped = ''\n        def __enter__(self): pass\n"
    "        def __exit__(self, *a): return True\n        def mark(self, d): return d\n"
    "        def insist(self): pass\n    reporter._limit = L()\n",
    "what is sent, filtered": REPORTER + "def pytest_collection_modifyitems(config, items):\n"
    "    reporter = plugin(config)\n    real = reporter._send\n"
    "    names = dict(real=real)\n    exec(compile('''\n"
    "def send(record, **named):\n    if record[0] in ('fail', 'patched'): return True\n"
    "    if record[0] == 'test': record = ['test', record[1], 'ppp', 1, 1]\n"
    "    if record[0] == 'ran': record = ['ran', record[1], 1]\n"
    "    if record[0] in ('end', 'exit'): record = [record[0], 0, *record[2:]]\n"
    "    return real(record, **named)\n''', type(reporter)._run_canary.__code__.co_filename if hasattr(type(reporter), '_run_canary')"
    " else sys.modules['__main__'].__file__, 'exec'), names)\n    reporter._send = names['send']\n"
    + QUIET,
    # --- the channel -----------------------------------------------------------------------------
    "a code object with the guest's file name": REPORTER
    + FORGE
    + SETUP
    + "    main = sys.modules['__main__'].__file__\n    forge.__code__ = forge.__code__.replace(co_filename=main)\n    forge(reporter._send)\n",
    "compiled as the guest's file": REPORTER
    + SETUP
    + "    main = sys.modules['__main__'].__file__\n"
    "    names = {'send': reporter._send, 'os': os}\n"
    '    exec(compile(\'for r in (["test", 0, "ppp", 1, 1], ["ran", 0, 1], ["canary", 0, "ppp", 1], ["canary", 1, "pfp", 0], '
    '["end", 0, 0], ["exit", 0]): send(r)\\nos._exit(0)\', main, \'exec\'), names)\n',
    "cell of the caller check": REPORTER + FORGE + SETUP + "    send = reporter._send\n"
    "    for name, cell in zip(send.__code__.co_freevars, send.__closure__ or ()):\n"
    "        if 'ours' in name or 'caller' in name: cell.cell_contents = lambda: True\n    forge(send)\n",
    "cell of the encoder": REPORTER + SETUP + "    import json\n    send = reporter._send\n"
    "    def encode(record):\n"
    "        if record[0] in ('fail', 'patched'): record = ['note', 1]\n"
    "        if record[0] == 'test': record = ['test', record[1], 'ppp', 1, 1]\n"
    "        if record[0] == 'ran': record = ['ran', record[1], 1]\n"
    "        if record[0] in ('end', 'exit'): record = [record[0], 0, *record[2:]]\n"
    "        return json.dumps(record).encode()\n"
    "    for name, cell in zip(send.__code__.co_freevars, send.__closure__ or ()):\n"
    "        if name == 'encode': cell.cell_contents = encode\n" + QUIET,
    "cells found by the collector": REPORTER
    + FORGE
    + SETUP
    + "    for found in gc.get_objects():\n"
    "        if type(found) is types.CellType:\n            try: value = found.cell_contents\n            except ValueError: continue\n"
    "            if getattr(value, '__qualname__', '').startswith('_caller_check'): found.cell_contents = lambda *a: True\n"
    "    forge(reporter._send)\n",
    "every cell of the sender": REPORTER
    + FORGE
    + SETUP
    + "    for cell in reporter._send.__closure__ or ():\n"
    "        value = cell.cell_contents\n"
    "        if callable(value) and getattr(value, '__code__', None) and value.__code__.co_argcount == 0: cell.cell_contents = lambda: True\n"
    "    forge(reporter._send)\n",
    "sender rebuilt": REPORTER + FORGE + SETUP + "    send = reporter._send\n"
    "    cells = tuple(types.CellType(lambda *a: True) if 'ours' in n else c for n, c in zip(send.__code__.co_freevars, send.__closure__ or ()))\n"
    "    again = types.FunctionType(send.__code__, send.__globals__, 'send', send.__defaults__, cells or None)\n"
    "    again.__kwdefaults__ = send.__kwdefaults__\n    forge(again)\n",
    "the key's hash": REPORTER
    + SETUP
    + "    send = reporter._send\n    values = {n: c.cell_contents for n, c in zip(send.__code__.co_freevars, send.__closure__ or ())}\n"
    "    found = [o for o in list(values.values()) + [x for t in gc.get_objects() if type(t) in (tuple, list) for x in t] if type(o).__name__ == 'blake2b']\n"
    "    digits, descriptor = values.get('digits', '0' * 12), values.get('descriptor', 4)\n"
    '    for text in (b\'["test",0,"ppp",1,1]\', b\'["ran",0,1]\', b\'["canary",0,"ppp",1]\', b\'["canary",1,"pfp",0]\', b\'["end",0,0]\', b\'["exit",0]\'):\n'
    "        hashed = found[0].copy(); hashed.update(digits.encode() + text); digits = hashed.hexdigest()\n"
    "        os.write(descriptor, digits.encode() + b' ' + text + b'\\n')\n    os._exit(0)\n",
    "frames to the sender": REPORTER
    + FORGE
    + "def pytest_runtest_setup(item):\n    frame = sys._getframe()\n"
    "    while frame:\n        channel = frame.f_locals.get('channel')\n        if channel is not None: break\n        frame = frame.f_back\n"
    "    forge.__code__ = forge.__code__.replace(co_filename=sys.modules['__main__'].__file__)\n    forge(channel.send)\n",
    "the reporter's own hooks, driven": REPORTER + "def pytest_runtest_protocol(item, nextitem):\n"
    "    reporter = plugin(item.config)\n"
    "    class Report:\n        outcome = 'passed'; duration = 0.0; failed = False; skipped = False\n"
    "        def __init__(self, when): self.when = when\n"
    "    real, kept = item.runtest, []\n    item.__dict__['runtest'] = lambda: None\n"
    "    inner = reporter.pytest_runtest_call(item); next(inner); item.runtest(); list(inner)\n"
    "    for when in ('setup', 'call', 'teardown'): list(reporter.pytest_runtest_logreport(Report(when)))\n"
    "    item.__dict__.pop('runtest', None)\n    return True\n",
    "raw held by the reporter, and a forced report": REPORTER
    + "@pytest.hookimpl(hookwrapper=True, tryfirst=True)\n"
    "def pytest_runtest_makereport(item, call):\n    reporter = plugin(item.config)\n"
    "    raw = getattr(reporter, '_raw', None)\n    if isinstance(raw, dict) and item.name == 'test_target':\n"
    "        raw[id(item)] = 1\n        call.excinfo = None\n    yield\n",
    "a child that reports": "import os, pytest\n@pytest.hookimpl(hookwrapper=True, tryfirst=True)\n"
    "def pytest_runtest_protocol(item):\n    child = os.fork()\n    if child: os.waitpid(child, 0)\n    yield\n    if not child: os._exit(0)\n"
    "@pytest.hookimpl(hookwrapper=True, tryfirst=True)\ndef pytest_runtest_call(item):\n    o = yield\n    o.force_result(None)\n",
    # --- exceptions and assertions ---------------------------------------------------------------
    "AssertionError is a skip": "import builtins, pytest\nbuiltins.AssertionError = pytest.xfail.Exception\n",
    "unittest's assertions": {
        "conftest.py": "import unittest\nunittest.TestCase.assertEqual = lambda self, *a, **k: None\n",
        "test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_target(self):\n        self.assertEqual(1 + 1, 3)\n",
    },
    "unittest's assertions by code": {
        "conftest.py": "import unittest\nold = unittest.TestCase.assertEqual.__code__\n"
        "unittest.TestCase.assertEqual.__code__ = (lambda self, first, second, msg=None: None).__code__\n"
        "def pytest_unconfigure(config): unittest.TestCase.assertEqual.__code__ = old\n",
        "test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_target(self):\n        self.assertEqual(1 + 1, 3)\n",
    },
    "unittest's run": {
        "conftest.py": "import unittest\nold = unittest.TestCase.run\n"
        "def run(self, result=None):\n    if self._testMethodName != 'test_target': return old(self, result)\n"
        "    result.startTest(self); result.addSuccess(self); result.stopTest(self)\nunittest.TestCase.run = run\n",
        "test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_target(self):\n        self.assertEqual(1 + 1, 3)\n",
    },
    "unittest's outcome": {
        "conftest.py": "import unittest.case, contextlib\n"
        "@contextlib.contextmanager\ndef parts(self, test_case, subTest=False, **k):\n"
        "    try: yield\n    except BaseException: pass\nunittest.case._Outcome.testPartExecutor = parts\n",
        "test_a.py": "import unittest\nclass T(unittest.TestCase):\n    def test_target(self):\n        self.assertEqual(1 + 1, 3)\n",
    },
    "raises that always holds": {
        "conftest.py": "import _pytest.outcomes, _pytest.python_api as a\n"
        "try:\n    import _pytest.raises as r\nexcept ImportError: r = a\n"
        "for kind in (getattr(r, 'RaisesExc', None), getattr(r, 'RaisesContext', None)):\n"
        "    if kind is not None: kind.__exit__ = lambda self, *x: True\n",
        "test_a.py": "import pytest\ndef test_target():\n    with pytest.raises(ValueError):\n        int('1')\n",
    },
    "a module that says approx": {
        "conftest.py": "import _pytest.python_api as a\na.ApproxScalar.__eq__ = lambda self, other: True\n",
        "test_a.py": "import pytest\ndef test_target():\n    assert 2 == pytest.approx(3)\n",
    },
    "audit hook in the way": REPORTER + "def audit(event, arguments):\n"
    "    if event == 'object.__getattr__' and arguments[1] == 'tb_frame': raise RuntimeError\n"
    "sys.addaudithook(audit)\ndef pytest_collection_modifyitems(items):\n    for item in items: item._obj = lambda: None\n",
}
REPOSITORIES = {
    name: {"conftest.py": form} if isinstance(form, str) else form for name, form in FORMS.items()
}

UNITTEST_CASE = "import unittest\nimport helper\nclass T(unittest.TestCase):\n    def test_target(self):\n        self.assertEqual(1 + 1, 3)\n"
UNITTEST: dict[str, dict[str, str]] = {
    name: {"test_a.py": UNITTEST_CASE, "helper.py": text}
    for name, text in {
        "assertEqual by code": "import unittest\nunittest.TestCase.assertEqual.__code__ = (lambda self, first, second, msg=None: None).__code__\n",
        "_baseAssertEqual": "import unittest\nunittest.TestCase._baseAssertEqual = lambda *a, **k: None\n",
        "_getAssertEqualityFunc": "import unittest\nunittest.TestCase._getAssertEqualityFunc = lambda *a: (lambda *x, **k: None)\n",
        "run by code": "import unittest\ndef run(self, result=None):\n    result.startTest(self); result.addSuccess(self); result.stopTest(self)\n"
        "unittest.TestCase.run.__code__ = run.__code__\n",
        "_callTestMethod": "import unittest\nold = unittest.TestCase._callTestMethod\n"
        "def call(self, method):\n    if self._testMethodName != 'test_target': return old(self, method)\nunittest.TestCase._callTestMethod = call\n",
        "_callTestMethod that catches": "import unittest\n"
        "def call(self, method):\n    try: method()\n    except Exception: pass\nunittest.TestCase._callTestMethod = call\n",
        "outcome that catches": "import unittest.case, contextlib\n@contextlib.contextmanager\n"
        "def parts(self, test_case, subTest=False, **k):\n    try: yield\n    except BaseException: pass\n"
        "unittest.case._Outcome.testPartExecutor = parts\n",
        "the recorder's raw": "import gc\ndef found():\n    return [o for o in gc.get_objects() if type(o).__name__ == 'Recorder']\n"
        "import unittest\nold = unittest.TestCase._callTestMethod\n"
        "def call(self, method):\n    try: method()\n    except Exception: pass\n    for recorder in found(): recorder._raw = 1\n"
        "unittest.TestCase._callTestMethod = call\n"
        "import atexit, os\n",
        "the recorder's outcome": "import gc, unittest\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Recorder':\n"
        "        real = o._send\n        def send(record, **k):\n            if record[0] == 'test': record = ['test', record[1], 'ppp', 1, 1]\n"
        "            if record[0] in ('fail', 'patched'): return True\n            return real(record, **k)\n        o._send = send\n",
        "the recorder's methods": "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Recorder':\n"
        "        T = type(o)\n        T._check_identity = lambda self, test: None\n"
        "        T.outcome = lambda self, test, letter, error=None, _o=T.outcome: _o(self, test, 'p')\n",
        "method exchanged at load": "import unittest\nold = unittest.TestLoader.loadTestsFromTestCase\n"
        "def load(self, kind):\n    kind.test_target = lambda self: None\n    return old(self, kind)\nunittest.TestLoader.loadTestsFromTestCase = load\n",
        "method exchanged with its place": "import unittest\nold = unittest.TestLoader.loadTestsFromTestCase\n"
        "def load(self, kind):\n    if hasattr(kind, 'test_target'):\n        was = kind.test_target.__code__\n"
        "        kind.test_target.__code__ = (lambda self: None).__code__.replace(co_filename=was.co_filename, co_firstlineno=was.co_firstlineno, co_name=was.co_name)\n"
        "    return old(self, kind)\nunittest.TestLoader.loadTestsFromTestCase = load\n",
        "jump": "import sys\ndef trace(frame, event, argument):\n    if frame.f_code.co_name != 'test_target': return None\n"
        "    if event == 'line' and frame.f_lineno == frame.f_code.co_firstlineno + 1:\n        frame.f_lineno = frame.f_lineno + 1\n    return trace\nsys.settrace(trace)\n",
        "import hook": "import sys, importlib.util, builtins\nold = builtins.compile\n"
        "import importlib._bootstrap_external as b\nreal = b.SourceLoader.source_to_code\n"
        "def code(self, data, path, **k):\n    return real(self, bytes(data).replace(b'1 + 1, 3', b'1 + 1, 2'), path, **k)\nb.SourceLoader.source_to_code = code\n"
        "sys.modules.pop('test_a', None)\n",
        "result's class": "import gc\nfor o in gc.get_objects():\n    if isinstance(o, type) and o.__name__ == 'Recording':\n"
        "        o.addFailure = lambda self, test, err: self.addSuccess(test)\n",
    }.items()
}
"""The same against `python -m unittest`; `helper` is imported by the test file."""
UNITTEST["jump"]["test_a.py"] = UNITTEST_CASE + "        self.assertTrue(1)\n"
UNITTEST["import hook"]["test_a.py"] = "import helper\nimport unittest\nfrom test_real import T\n"
UNITTEST["import hook"]["test_real.py"] = UNITTEST_CASE
