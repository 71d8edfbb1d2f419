"""Repositories that make a failing test look green, each in a way of its own: file names and contents."""

FAILING = "def test_target():\n    assert 1 + 1 == 3\n"
"""`test_a.py` of every one that has no other."""

REPOSITORIES: dict[str, dict[str, str]] = {
    "gc key forge": {
        "conftest.py": (
            "\n"
            "import gc, os, sys, json, hashlib, base64, zlib\n"
            "def chan():\n"
            "    for o in gc.get_objects():\n"
            '        if type(o).__name__ == "Channel" and hasattr(o, "_key"): return o\n'
            "def pytest_runtest_setup(item):\n"
            "    c = chan()\n"
            "    if not c: return\n"
            "    S = type(c)\n"
            '    for n, ph, raw in ((0,"ppp",1),(1,"pfp",0)): pass\n'
            '    c.send(["start", 0]); c.send(["test", 0, "ppp", 1, 1])\n'
            '    c.send(["canary",0,"ppp",1]); c.send(["canary",1,"pfp",0])\n'
            '    c.send(["end", 0, 0]); c.send(["exit", 0])\n'
            "    os._exit(0)\n"
        ),
    },
    "frames reporter": {
        "conftest.py": (
            "\n"
            "import sys, os\n"
            "def pytest_runtest_call(item):\n"
            "    for p in item.config.pluginmanager.get_plugins():\n"
            '        if hasattr(p, "_send"):\n'
            "            s = p._send\n"
            '            s(["test", 0, "ppp", 1, 1]); s(["canary",0,"ppp",1]); s(["canary",1,"pfp",0]); s(["end",0,0]); s(["exit",0]); os._exit(0)\n'
        ),
    },
    "raw dict": {
        "conftest.py": (
            "\n"
            "import pytest\n"
            "def pytest_runtest_setup(item):\n"
            "    for p in item.config.pluginmanager.get_plugins():\n"
            '        if hasattr(p, "_raw"):\n'
            "            class D(dict):\n"
            "                def __setitem__(s,k,v): dict.__setitem__(s,k,1)\n"
            "                def get(s,k,d=None): return 1\n"
            "            p._raw = D()\n"
            "            class Ph(dict):\n"
            '                def get(s,k,d=None): return "p"\n'
            "            orig=p._run_canary\n"
        ),
    },
    "ast": {
        "conftest.py": (
            "import _pytest.assertion.rewrite as r\n"
            "r.rewrite_asserts=lambda mod,*a,**k: mod.body.__setitem__(slice(None),[n for n in mod.body if 0])\n"
        ),
    },
    "loader": {
        "conftest.py": (
            "\n"
            "import sys, importlib.abc, importlib.util\n"
            "class F(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path, target=None):\n"
            '        if name.startswith("test_"):\n'
            "            class L(importlib.abc.Loader):\n"
            "                def create_module(s, spec): return None\n"
            '                def exec_module(s, m): exec("def test_target(): pass", m.__dict__)\n'
            "            return importlib.util.spec_from_loader(name, L())\n"
            "sys.meta_path.insert(0, F())\n"
        ),
    },
    "collect file": {
        "conftest.py": (
            "\n"
            "import pytest\n"
            "class I(pytest.Item):\n"
            "    def runtest(self): pass\n"
            "    def reportinfo(self): return self.path, 0, self.name\n"
            "class M(pytest.File):\n"
            '    def collect(self): yield I.from_parent(self, name="test_target")\n'
            "def pytest_collect_file(parent, file_path):\n"
            '    if file_path.name == "test_a.py": return M.from_parent(parent, path=file_path)\n'
            "def pytest_pycollect_makemodule(module_path, parent): return M.from_parent(parent, path=module_path)\n"
        ),
    },
    "makeitem": {
        "conftest.py": (
            "\n"
            "import pytest\n"
            "def pytest_pycollect_makeitem(collector, name, obj):\n"
            '    if name.startswith("test"): return pytest.Function.from_parent(collector, name=name, callobj=lambda: None)\n'
        ),
    },
    "pyfunc_call": {
        "conftest.py": (
            "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem): return True\n"
        ),
    },
    "code at import": {
        "conftest.py": (
            "\n"
            "import pytest\n"
            "def pytest_collectstart(collector):\n"
            '    if hasattr(collector, "obj"):\n'
            "        for k,v in list(vars(collector.obj).items()):\n"
            '            if k.startswith("test"): setattr(collector.obj, k, lambda: None)\n'
        ),
    },
    "dup nodeids": {
        "conftest.py": (
            "\n"
            "import pytest\n"
            "def pytest_collection_modifyitems(items):\n"
            '    for i in items: i._nodeid = "test_a.py::test_target"\n'
            "    items.sort(key=lambda i: i.name)\n"
        ),
        "test_a.py": ("def test_target():\n    assert 1 + 1 == 3\ndef test_a(): pass\n"),
    },
    "renamed": {
        "conftest.py": (
            "\n"
            "def pytest_collection_modifyitems(items):\n"
            '    o=[i for i in items if i.name=="test_ok"][0]; items[:]=[o]; o._nodeid="test_a.py::test_target"; o.name="test_target"\n'
        ),
        "test_a.py": ("def test_target():\n    assert 1 + 1 == 3\ndef test_ok(): pass\n"),
    },
    "fork": {
        "conftest.py": (
            "\nimport os\ndef pytest_sessionfinish(session):\n    pid=os.fork()\n    if pid: os._exit(0)\n"
        ),
    },
    "fork early": {
        "conftest.py": ("\nimport os\nif os.fork(): \n    os.wait(); os._exit(0)\n"),
    },
    "unconfigure exit": {
        "conftest.py": ("import os\ndef pytest_unconfigure(config): os._exit(0)\n"),
    },
    "sys.exit unconfigure": {
        "conftest.py": ("import sys\ndef pytest_unconfigure(config): sys.exit(0)\n"),
    },
    "atexit": {
        "conftest.py": ("import atexit,os\natexit.register(lambda: os._exit(0))\n"),
    },
    "json patched": {
        "conftest.py": (
            "import json\n"
            "o=json.dumps\n"
            "def d(x,**k):\n"
            "    if isinstance(x,list) and x and x[0]=='test': x=['test',x[1],'ppp',1,1]\n"
            "    if isinstance(x,list) and x and x[0] in('end','exit'): x[1]=0\n"
            "    return o(x,**k)\n"
            "json.dumps=d\n"
            "import json.encoder as e\n"
            "oe=e.JSONEncoder.encode\n"
            "e.JSONEncoder.encode=lambda s,x: oe(s, ['test',x[1],'ppp',1,1] if isinstance(x,list) and x and x[0]=='test' else ([x[0],0,*x[2:]] if isinstance(x,list) and x and x[0] in('end','exit') else x))\n"
            "import atexit,os\n"
            "atexit.register(lambda: os._exit(0))\n"
        ),
    },
    "channel class": {
        "conftest.py": (
            "\n"
            "import gc, os, atexit\n"
            "for o in gc.get_objects():\n"
            '    if type(o).__name__ == "Channel" and hasattr(o, "_key"):\n'
            "        T=type(o); orig=T.send\n"
            "        def send(self, record, **k):\n"
            '            if record[0]=="test": record=["test",record[1],"ppp",1,1]\n'
            '            if record[0] in ("end","exit"): record=[record[0],0,*record[2:]]\n'
            '            if record[0] in ("fail","patched"): return True\n'
            "            return orig(self, record, **k)\n"
            "        T.send=send\n"
            "for o in gc.get_objects():\n"
            '    if type(o).__name__ == "Reporter" and hasattr(o, "_raw"):\n'
            '        o._send = next(c for c in gc.get_objects() if type(c).__name__=="Channel").send\n'
            "atexit.register(lambda: os._exit(0))\n"
        ),
    },
    "dumps ref": {
        "conftest.py": (
            "\n"
            "import gc, os, atexit, json\n"
            "for o in gc.get_objects():\n"
            '    if type(o).__name__ == "Channel" and hasattr(o, "_key"):\n'
            "        orig=o._dumps\n"
            "        def dumps(record, **k):\n"
            '            if record[0]=="test": record=["test",record[1],"ppp",1,1]\n'
            '            if record[0] in ("end","exit"): record=[record[0],0,*record[2:]]\n'
            "            return orig(record, **k)\n"
            "        o._dumps=dumps\n"
            "atexit.register(lambda: os._exit(0))\n"
        ),
    },
    "skip all exit 0": {
        "test_a.py": (
            "import pytest\npytest.skip('x', allow_module_level=True)\ndef test_target():\n    assert 1 + 1 == 3\n"
        ),
    },
    "ini -x -k": {
        "pytest.ini": ("[pytest]\naddopts = -k nothing_at_all\n"),
    },
    "ini deselect": {
        "pytest.ini": ("[pytest]\naddopts = --deselect test_a.py::test_target\n"),
        "test_a.py": ("def test_target():\n    assert 1 + 1 == 3\ndef test_b(): pass\n"),
    },
    "ini co": {
        "pytest.ini": ("[pytest]\naddopts = --co -q\n"),
    },
    "ini python_functions": {
        "pytest.ini": ("[pytest]\npython_functions = nope*\n"),
        "test_a.py": ("def test_target():\n    assert 1 + 1 == 3\ndef nope_x(): pass\n"),
    },
    "ini -p evil": {
        "pytest.ini": ("[pytest]\naddopts = -p evil\npythonpath=.\n"),
        "evil.py": (
            "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem): return True\n"
        ),
    },
    "ini confcutdir": {
        "pytest.ini": ("[pytest]\naddopts = -p no:python\n"),
    },
    "ignore": {
        "conftest.py": ("collect_ignore=['test_a.py']\n"),
        "test_b.py": ("def test_b(): pass\n"),
    },
    "threads alive": {
        "test_a.py": (
            "import threading,os,time\n"
            "threading.Thread(target=lambda:(time.sleep(0.3),os._exit(0))).start()\n"
            "def test_target():\n"
            "    assert 1 + 1 == 3\n"
        ),
    },
    "alarm": {
        "test_a.py": (
            "import signal,os\n"
            "signal.signal(signal.SIGALRM,lambda *a: os._exit(0))\n"
            "signal.setitimer(signal.ITIMER_REAL,0.25)\n"
            "import time\n"
            "def test_target():\n"
            "    time.sleep(1)\n"
            "    assert 0\n"
        ),
    },
    "xfail strict": {
        "conftest.py": (
            "import pytest\n"
            "@pytest.fixture(autouse=True)\n"
            "def f(request):\n"
            "    request.node.add_marker(pytest.mark.xfail)\n"
        ),
    },
    "len patched": {
        "conftest.py": ("import builtins\nbuiltins.len=lambda x: 0\n"),
    },
    "isinstance patched": {
        "conftest.py": (
            "import builtins\n"
            "_i=builtins.isinstance\n"
            "builtins.isinstance=lambda a,b: True if b is BaseException else _i(a,b)\n"
        ),
    },
    "getattr patched": {
        "conftest.py": (
            "import builtins\n"
            "_g=builtins.getattr\n"
            "builtins.getattr=lambda o,n,*d: ('passed' if n=='outcome' else _g(o,n,*d))\n"
        ),
    },
    "excinfo": {
        "conftest.py": (
            "import _pytest.runner as r\n"
            "_o=r.CallInfo.__init__\n"
            "def init(self, result, excinfo, *a, **k): _o(self, result, None, *a, **k)\n"
            "r.CallInfo.__init__=init\n"
        ),
    },
    "settrace": {
        "conftest.py": (
            "\n"
            "import sys\n"
            "def tr(f,e,a):\n"
            '    if f.f_code.co_name=="test_target" and e=="call":\n'
            "        def loc(f,e,a):\n"
            '            if e=="line":\n'
            "                try: f.f_lineno=f.f_lineno+1\n"
            "                except Exception: pass\n"
            "            return loc\n"
            "        return loc\n"
            "sys.settrace(tr)\n"
        ),
        "test_a.py": ("def test_target():\n    x = 0\n    assert x\n    x = 1\n"),
    },
    "runtest wrapped": {
        "conftest.py": (
            "import functools,pytest\n"
            "def pytest_collection_modifyitems(items):\n"
            "    for i in items:\n"
            "        o=i.obj\n"
            "        @functools.wraps(o)\n"
            "        def f(*a,**k):\n"
            "            try: o(*a,**k)\n"
            "            except BaseException: pass\n"
            "        i.obj=f\n"
        ),
    },
    "__wrapped__ obj": {
        "conftest.py": (
            "import pytest\n"
            "def pytest_collection_modifyitems(items):\n"
            "    for i in items:\n"
            "        o=i.obj\n"
            "        f=lambda: None\n"
            "        f.__wrapped__=o\n"
            "        i._obj=f\n"
        ),
    },
    "fixture exit": {
        "conftest.py": (
            "import pytest,os\n@pytest.fixture(autouse=True)\ndef f():\n    yield\n    os._exit(0)\n"
        ),
    },
    "retry": {
        "conftest.py": (
            "def pytest_runtest_protocol(item,nextitem):\n"
            "    from _pytest.runner import runtestprotocol\n"
            "    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid,location=item.location)\n"
            "    for r in runtestprotocol(item,nextitem=nextitem,log=False):\n"
            "        r.outcome='passed'; item.ihook.pytest_runtest_logreport(report=r)\n"
            "    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid,location=item.location)\n"
            "    return True\n"
        ),
    },
    "unregister": {
        "conftest.py": (
            "\n"
            "def pytest_collection_finish(session):\n"
            "    pm=session.config.pluginmanager\n"
            "    for p in list(pm.get_plugins()):\n"
            '        if type(p).__name__=="Reporter" and hasattr(p,"_send"): pm.unregister(p)\n'
        ),
    },
    "subclass reporter": {
        "conftest.py": (
            "\n"
            "import gc\n"
            "def pytest_runtestloop(session):\n"
            "    return None\n"
            "def pytest_collection_finish(session):\n"
            "    for p in session.config.pluginmanager.get_plugins():\n"
            '        if hasattr(p,"_check_identity"):\n'
            "            T=type(p)\n"
            "            T._check_identity=lambda s,i: None\n"
            "            real=p._send\n"
            "            def send(rec,**k):\n"
            '                if rec[0]=="test": rec=["test",rec[1],"ppp",1,rec[4]]\n'
            '                if rec[0] in("end","exit"): rec=[rec[0],0,*rec[2:]]\n'
            '                if rec[0] in ("fail","patched"): return True\n'
            "                return real(rec,**k)\n"
            "            p._send=send\n"
            "    def fin(): pass\n"
            "import atexit,os\n"
            "atexit.register(lambda: os._exit(0))\n"
        ),
    },
    "main frame": {
        "conftest.py": (
            "\n"
            "import sys\n"
            "def pytest_unconfigure(config):\n"
            "    f=sys._getframe()\n"
            "    while f:\n"
            '        ch=f.f_locals.get("channel")\n'
            "        if ch is not None:\n"
            "            o=ch.send\n"
            "            def send(r,**k):\n"
            '                if r[0]=="exit": r=["exit",0]\n'
            "                return o(r,**k)\n"
            "            ch.send=send\n"
            "        f=f.f_back\n"
            "import atexit,os\n"
            "atexit.register(lambda: os._exit(0))\n"
        ),
    },
    "I04 junit": {
        "test_a.py": (
            "import atexit, os\n"
            "def test_target():\n"
            "    for n in ('junit.xml','results.xml','report.xml'):\n"
            '        open(n,\'w\').write(\'<testsuite tests="1" failures="0" errors="0"><testcase classname="test_a" name="test_target"/></testsuite>\')\n'
            "    os._exit(0)\n"
        ),
    },
    "I05 stdout": {
        "test_a.py": (
            "import os\n"
            "def test_target():\n"
            "    os.write(1, b'\\n============ 1 passed in 0.01s ============\\n')\n"
            "    os._exit(0)\n"
        ),
    },
    "I07 swallow": {
        "conftest.py": (
            "import pytest\n"
            "@pytest.hookimpl(hookwrapper=True)\n"
            "def pytest_runtest_call(item):\n"
            "    o = yield\n"
            "    o.force_result(None)\n"
        ),
    },
    "I09 site packages": {
        "test_a.py": (
            "import os, site, sys, glob\n"
            "def test_target():\n"
            "    for p in sys.path + site.getsitepackages():\n"
            "        for n in glob.glob(p + '/_pytest/*.py') + [p + '/sitecustomize.py', p + '/evil.pth']:\n"
            "            try:\n"
            "                open(n, 'w').write('import os; os._exit(0)')\n"
            "                print('ESCAPE: wrote', n)\n"
            "            except OSError: pass\n"
            "    os._exit(0)\n"
        ),
    },
    "I12 collect only": {
        "setup.cfg": ("[tool:pytest]\naddopts = --collect-only -q\n"),
    },
    "I13 deselect": {
        "tox.ini": ("[pytest]\naddopts = --deselect test_a.py -q\n"),
        "test_b.py": ("def test_b(): pass\n"),
    },
    "environment plugins": {
        "conftest.py": (
            "import os\nos.environ['PYTEST_ADDOPTS']='--co'\nos.environ['PYTEST_PLUGINS']='evil'\n"
        ),
        "evil.py": ("import os\nos._exit(0)\n"),
    },
    "pyproject plugins": {
        "pyproject.toml": ("[tool.pytest.ini_options]\naddopts = '-p evil'\npythonpath = '.'\n"),
        "evil.py": ("import os\nos._exit(0)\n"),
    },
    "entry point": {
        "evil.egg-info/entry_points.txt": ("[pytest11]\nevil = evil\n"),
        "evil.egg-info/PKG-INFO": ("Metadata-Version: 2.1\nName: evil\nVersion: 0\n"),
        "evil.py": ("import os\nos._exit(0)\n"),
    },
    "shadows": {
        "json.py": ("import os\nos._exit(0)\n"),
        "hmac.py": ("import os\nos._exit(0)\n"),
        "hashlib.py": ("import os\nos._exit(0)\n"),
        "pytest.py": ("import os\nos._exit(0)\n"),
        "pluggy.py": ("import os\nos._exit(0)\n"),
        "zlib.py": ("import os\nos._exit(0)\n"),
        "base64.py": ("import os\nos._exit(0)\n"),
        "inspect.py": ("import os\nos._exit(0)\n"),
        "sitecustomize.py": ("import os\nos._exit(0)\n"),
        "usercustomize.py": ("import os\nos._exit(0)\n"),
        "_pytest.py": ("import os\nos._exit(0)\n"),
        "ast.py": ("import os\nos._exit(0)\n"),
        "record_channel.py": ("import os\nos._exit(0)\n"),
        "identity.py": ("import os\nos._exit(0)\n"),
    },
    "programs": {
        "pytest": ("#!/bin/sh\nexit 0\n"),
        "python": ("#!/bin/sh\nexit 0\n"),
        "python3": ("#!/bin/sh\nexit 0\n"),
        "sh": ("#!/bin/sh\nexit 0\n"),
        "tar": ("#!/bin/sh\nexit 0\n"),
        "git": ("#!/bin/sh\nexit 0\n"),
    },
    "startup file": {
        ".pythonstartup": ("import os\nos._exit(0)\n"),
        "conftest.py": ("import os\nos.environ['PYTHONSTARTUP']='.pythonstartup'\n"),
    },
    "descriptor 3": {
        "conftest.py": (
            "import os\n"
            "for fd in range(3,30):\n"
            "    try: os.dup2(os.open('/dev/null',os.O_WRONLY),fd)\n"
            "    except OSError: pass\n"
        ),
    },
    "close all": {
        "conftest.py": ("import os\nos.closerange(3,200)\n"),
        "test_a.py": ("import os\ndef test_target():\n    os._exit(0)\n"),
    },
    "by proc": {
        "test_a.py": (
            "import os, glob\n"
            "def test_target():\n"
            "    for p in glob.glob('/proc/self/fd/*'):\n"
            "        try: os.write(os.open(p, os.O_WRONLY), b'000000000000 [\"exit\",0]\\n')\n"
            "        except OSError: pass\n"
            "    os._exit(0)\n"
        ),
    },
    "warnings": {
        "conftest.py": (
            "import warnings, sys\nwarnings.showwarning=lambda *a: sys.exit(0)\nwarnings.warn('x')\n"
        ),
    },
    "faulthandler": {
        "test_a.py": (
            "import faulthandler, os\n"
            "def test_target():\n"
            "    faulthandler.dump_traceback_later(0.1, exit=True)\n"
            "    import time; time.sleep(1)\n"
        ),
    },
    "limits": {
        "conftest.py": (
            "import resource\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE,(1,1))\n"
            "resource.setrlimit(resource.RLIMIT_NOFILE,(8,8))\n"
        ),
    },
    "unittest main": {
        "test_a.py": (
            "import unittest\n"
            "class T(unittest.TestCase):\n"
            "    def run(self, result=None): return result\n"
            "    def test_target(self): self.fail()\n"
            "def test_target(): assert 0\n"
        ),
    },
    "unittest fail patched": {
        "test_a.py": (
            "import unittest\n"
            "unittest.TestCase.failureException=type('E',(BaseException,),{})\n"
            "unittest.TestCase.assertEqual=lambda *a:None\n"
            "class T(unittest.TestCase):\n"
            "    def test_u(self): self.assertEqual(1,2)\n"
            "def test_target(): assert 0\n"
        ),
    },
    "stop": {
        "conftest.py": (
            "import pytest\n@pytest.fixture(autouse=True)\ndef f(request):\n    request.session.shouldstop='done'\n"
        ),
    },
    "maxfail exit": {
        "conftest.py": (
            "def pytest_runtest_logreport(report):\n    import pytest\n    if report.failed: pytest.exit('ok', 0)\n"
        ),
    },
    "config option": {
        "conftest.py": (
            "def pytest_configure(config):\n    config.option.collectonly=True\n    config.option.keyword='nothing'\n"
        ),
    },
    "session items": {
        "conftest.py": (
            "def pytest_collection_finish(session):\n    session.items.clear()\n    session.testsfailed=0\n"
        ),
    },
    "canary spared": {
        "conftest.py": (
            "import pytest\n"
            "@pytest.hookimpl(hookwrapper=True)\n"
            "def pytest_runtest_makereport(item, call):\n"
            "    o=yield\n"
            "    r=o.get_result()\n"
            "    if item.name=='test_target': r.outcome='passed'; r.longrepr=None\n"
        ),
    },
    "canary spared below": {
        "conftest.py": (
            "import pytest\n"
            "@pytest.hookimpl(tryfirst=True)\n"
            "def pytest_pyfunc_call(pyfuncitem):\n"
            "    if pyfuncitem.name=='test_target': return True\n"
        ),
    },
    "wasxfail": {
        "conftest.py": (
            "import pytest\n"
            "@pytest.hookimpl(hookwrapper=True)\n"
            "def pytest_runtest_makereport(item, call):\n"
            "    o=yield\n"
            "    r=o.get_result()\n"
            "    if r.failed: r.outcome='passed'; r.wasxfail='x'\n"
        ),
    },
    "subtests": {
        "conftest.py": (
            "import pytest\n"
            "@pytest.hookimpl(hookwrapper=True,trylast=True)\n"
            "def pytest_runtest_call(item):\n"
            "    try:\n"
            "        yield\n"
            "    except BaseException: pass\n"
        ),
    },
}
"""Bounded by construction: nothing forks twice, sends anything or runs longer than a second."""
