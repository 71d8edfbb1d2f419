"""What a test needs and this machine has not: a failure where everything must be there, a loud skip elsewhere."""

import os
from typing import NoReturn

import pytest


def missing(reason: str) -> NoReturn:
    """Fail in strict mode, which continuous integration runs in; skip and say why elsewhere."""
    if os.environ.get("METAAGENT_TEST_STRICT") == "1":
        pytest.fail(f"METAAGENT_TEST_STRICT=1 and {reason}", pytrace=False)
    pytest.skip(reason, allow_module_level=True)
