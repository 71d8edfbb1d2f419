"""What a set-up reached and was refused."""

import logging

import pytest

from sandbox.egress.ledger import MAX_NAMED, EgressLedger


def test_one_who_is_refused_again_and_again_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    ledger = EgressLedger(1)
    with caplog.at_level(logging.INFO, logger="sandbox.egress.ledger"):
        for number in range(3 * MAX_NAMED):
            ledger.refused("one.example:443", f"reason {number % 2}")
            ledger.refused(f"{number}.example:443", "it is not on the list of hosts")
            ledger.reached(f"{number}.example:443")
    assert len(caplog.records) == 2 * MAX_NAMED
    assert len(ledger.egress().refused) == len(ledger.egress().hosts) == MAX_NAMED
