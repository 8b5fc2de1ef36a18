"""A function that never gets through its import."""

import time

time.sleep(60)
