"""Leaves the lanes of the running system, as `taskmill leave-lanes` does."""

import os
import sys

from taskmill_local.cli.commands.leave_lanes import leave_lanes

sys.exit(leave_lanes(os.environ, "", as_json=True))
