"""Settings of every test run."""

import os

# Before Qt is loaded: the tests need no display, and must not open windows on one.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
