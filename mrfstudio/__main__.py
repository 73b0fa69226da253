"""`python -m mrfstudio` is the same as `mrfstudio`."""

import sys

from mrfstudio.cli import main

if __name__ == "__main__":  # a spawned job imports the module again and must not start a second studio
    sys.exit(main())
