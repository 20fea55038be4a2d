"""`python -m greenroom`."""

import sys

from greenroom.cli import main

if __name__ == "__main__":
    sys.exit(main())
