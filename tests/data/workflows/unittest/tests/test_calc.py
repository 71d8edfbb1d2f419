import unittest

from calc import add


class AddTest(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(1, 2), 3)

    def test_zero_changes_nothing(self):
        self.assertEqual(add(1, 0), 1)
