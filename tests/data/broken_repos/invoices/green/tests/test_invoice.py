import pytest

from invoices import Invoice, Line


def test_small_lines_have_no_discount():
    assert Line("pen", 9, 100).net_cents == 900


def test_the_discount_starts_with_the_tenth_piece():
    assert Line("pen", 10, 100).net_cents == 950


def test_between_two_steps_the_lower_one_counts():
    assert Line("pen", 49, 100).net_cents == 4655


def test_every_step_counts_from_its_first_piece():
    assert Line("pen", 50, 100).net_cents == 4500
    assert Line("pen", 100, 100).net_cents == 8500


def test_large_lines_get_the_best_step():
    assert Line("pen", 250, 100).net_cents == 21250


def test_tax_is_added_to_the_discounted_sum():
    invoice = Invoice().add("pen", 5, 120).add("book", 1, 999)
    assert invoice.net_cents == 1599
    assert invoice.total_cents == 1919
    assert invoice.summary() == "2 lines, 19.19"


def test_an_empty_quantity_is_refused():
    with pytest.raises(ValueError):
        Invoice().add("pen", 0, 100)
