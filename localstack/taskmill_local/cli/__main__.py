"""Lets `python -m taskmill_local.cli` run the command."""

import sys

from taskmill_local.cli.entry import main

sys.exit(main())
