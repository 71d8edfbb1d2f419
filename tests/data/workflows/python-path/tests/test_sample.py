import os
import subprocess
import sys

import sample


def test_adds():
    assert sample.add(2, 1) == 3


def test_a_program_finds_the_module_too():
    done = subprocess.run([sys.executable, "-c", "import sample"], cwd="/", env=os.environ)
    assert done.returncode == 0


def test_options():
    assert sys.flags.dev_mode
    assert sys.flags.bytes_warning == 2
