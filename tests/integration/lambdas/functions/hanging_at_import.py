"""A function whose import never ends."""

import time

time.sleep(60)
