import subprocess


def run(*words):
    return subprocess.run(["sample", *words], capture_output=True, text=True, check=False)


def test_it_greets():
    assert run("a").stdout == "sample a\n"


def test_it_ends_well():
    assert run().returncode == 0
