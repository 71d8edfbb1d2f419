"""Small honest repositories of many kinds; what they say outside they have to say inside."""

HONEST: dict[str, dict[str, str]] = {
    "asyncio": {
        "test_a.py": "import asyncio\nasync def add(a, b):\n    await asyncio.sleep(0.01)\n    return a + b\n"
        "def test_gather():\n    async def main():\n        return await asyncio.gather(*(add(i, 1) for i in range(5)))\n"
        "    assert asyncio.run(main()) == [1, 2, 3, 4, 5]\n"
        "def test_time_out():\n    async def main():\n        await asyncio.wait_for(asyncio.sleep(9), 0.01)\n    asyncio.run(main())\n"
    },
    "processes": {
        "test_a.py": "import subprocess, sys, multiprocessing\ndef square(x):\n    return x * x\n"
        "def test_child():\n    assert subprocess.check_output([sys.executable, '-c', 'print(6 * 7)']) == b'42\\n'\n"
        "def test_status():\n    assert subprocess.run([sys.executable, '-c', 'raise SystemExit(3)']).returncode == 0\n"
        "def test_pool():\n    with multiprocessing.get_context('fork').Pool(2) as pool:\n        assert pool.map(square, [1, 2]) == [1, 4]\n"
    },
    "files": {
        "test_a.py": "import os, tempfile\ndef test_tmp(tmp_path):\n    (tmp_path / 'ü').write_text('x')\n    assert os.listdir(tmp_path) == ['ü']\n"
        "def test_temporary():\n    with tempfile.TemporaryDirectory() as d:\n        os.symlink('x', d + '/l')\n        assert os.path.islink(d + '/l')\n"
        "def test_here():\n    assert open('data.txt').read() == 'data\\n'\n",
        "data.txt": "data\n",
    },
    "sockets": {
        "test_a.py": "import socket, threading\ndef test_echo():\n    s = socket.create_server(('127.0.0.1', 0))\n"
        "    t = threading.Thread(target=lambda: s.accept()[0].sendall(b'hi'))\n    t.start()\n"
        "    with socket.create_connection(s.getsockname()) as c:\n        assert c.recv(9) == b'hi'\n    t.join(); s.close()\n"
        "def test_pair():\n    a, b = socket.socketpair()\n    a.send(b'x')\n    assert b.recv(1) == b'x'\n    a.close(); b.close()\n"
    },
    "threads": {
        "test_a.py": "import threading, concurrent.futures as f\ndef test_many():\n    with f.ThreadPoolExecutor(20) as p:\n"
        "        assert sum(p.map(int, range(100))) == 4950\n"
        "def test_lock():\n    lock = threading.Lock()\n    lock.acquire()\n    assert lock.acquire(timeout=0.01)\n"
    },
    "locale": {
        "test_a.py": "import locale, os, time\ndef test_text():\n    assert 'ß'.upper() == 'SS'\n"
        "def test_encoding():\n    assert 'é'.encode() == open('e.txt', 'rb').read().strip()\n"
        "def test_zone():\n    assert time.strftime('%H', time.gmtime(0)) == '00'\n",
        "e.txt": "é\n",
    },
    "sqlite": {
        "test_a.py": "import sqlite3, pytest\n@pytest.fixture(scope='session')\ndef db():\n    c = sqlite3.connect(':memory:')\n"
        "    c.execute('create table t (x)')\n    yield c\n    c.close()\n"
        "def test_in(db):\n    db.execute('insert into t values (1)')\n"
        "def test_out(db):\n    assert db.execute('select count(*) from t').fetchone() == (2,)\n"
    },
    "output": {
        "test_a.py": "import sys, logging, warnings\ndef test_much():\n    print('x' * 3_000_000)\n    sys.stderr.write('y\\n' * 10000)\n"
        "def test_caught(capsys):\n    print('ä')\n    assert capsys.readouterr().out == 'ä\\n'\n"
        "def test_logged(caplog):\n    logging.warning('w')\n    assert 'w' in caplog.text\n"
        "def test_warned(recwarn):\n    warnings.warn('w', stacklevel=1)\n    assert len(recwarn) == 2\n"
    },
    "parameters": {
        "test_a.py": "import pytest\n@pytest.mark.parametrize('x', ['ü', 'a b', '[x]', '::', '\\n', '', '日本', 'é' * 30])\n"
        "def test_x(x):\n    assert len(x) < 30\n"
        "@pytest.mark.parametrize('a', [1, 2])\n@pytest.mark.parametrize('b', [3, 4])\ndef test_two(a, b):\n    assert a + b != 6\n"
    },
    "marks": {
        "test_a.py": "import pytest\n@pytest.mark.skip\ndef test_skipped(): assert 0\n@pytest.mark.xfail\ndef test_expected(): assert 0\n"
        "@pytest.mark.xfail\ndef test_unexpected(): pass\n@pytest.mark.xfail(strict=True)\ndef test_strict(): pass\n"
        "def test_inside(): pytest.skip('no')\n@pytest.fixture\ndef broken():\n    raise RuntimeError\ndef test_error(broken): pass\n"
        "@pytest.fixture\ndef late():\n    yield\n    raise RuntimeError\ndef test_late(late): pass\n"
    },
    "unittest": {
        "test_a.py": "import unittest\nclass Base(unittest.TestCase):\n    def test_base(self): self.assertTrue(self.ok())\n    def ok(self): return True\n"
        "class Child(Base):\n    def ok(self): return False\n    def setUp(self): self.x = 1\n    def test_sub(self):\n"
        "        with self.assertRaises(ZeroDivisionError): 1 / 0\n    @unittest.skip('x')\n    def test_skip(self): self.fail()\n"
        "    @unittest.expectedFailure\n    def test_expected(self): self.fail()\n"
    },
    "doctest": {
        "pytest.ini": "[pytest]\naddopts = --doctest-modules\n",
        "m.py": "def f(x):\n    '''\n    >>> f(1)\n    2\n    >>> f(2)\n    4\n    '''\n    return x + 1\ndef g():\n    '''\n    >>> g()\n    3\n    '''\n    return 3\n",
        "test_a.py": "from m import f\ndef test_f(): assert f(1) == 2\n",
    },
    "random": {
        "test_a.py": "import random, hashlib\ndef test_seeded():\n    r = random.Random(7)\n    assert [r.randint(0, 9) for _ in range(5)] == [5, 2, 6, 0, 1]\n"
        "def test_order():\n    assert sorted({'a', 'b', 'c'}) == ['a', 'b', 'c']\n"
        "def test_digest():\n    assert hashlib.md5(b'').hexdigest().startswith('d41d')\n"
    },
    "wrappers": {
        "conftest.py": "import pytest\n@pytest.fixture(autouse=True)\ndef around(request):\n    yield\n"
        "@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    yield\n",
        "base.py": "def test_inherited():\n    assert True\n",
        "test_a.py": "import functools\nfrom unittest import mock\nfrom base import test_inherited\ndef twice(f):\n    @functools.wraps(f)\n"
        "    def g(*a, **k):\n        f(*a, **k)\n        return f(*a, **k)\n    return g\n@twice\ndef test_decorated():\n    pass\n"
        "@mock.patch('os.getcwd', return_value='/x')\ndef test_patched(cwd):\n    import os\n    assert os.getcwd() == '/y'\n"
        "test_lambda = lambda: None\nfor n in range(2):\n    exec(f'def test_made_{n}(): assert {n}')\n",
    },
}
