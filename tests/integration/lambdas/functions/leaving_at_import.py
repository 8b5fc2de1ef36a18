"""A function whose process ends while its module is imported."""

import os

os._exit(7)
