"""`python -m bot` is the command `metaagent`."""

import sys

from bot.cli import main

sys.exit(main())
