import sys
import unittest

if __name__ == "__main__":
    sys.exit(not unittest.TextTestRunner().run(unittest.defaultTestLoader.discover(".")).wasSuccessful())
