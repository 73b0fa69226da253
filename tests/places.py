"""Where tests find files, whatever folder they lie in themselves."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SESSIONS = ROOT / "tests" / "sessions"  # saved by every version that shipped, never changed
REFERENCES = ROOT / "tests" / "ui" / "references"  # pictures of the window
TOY_FAMILY = ROOT / "tests" / "toy_family"  # a package that is not installed: put it on the path
SHARED = ROOT.parent / "shared"  # data and files of other programs; tests that need them skip without
