"""So that `python -m surefoot` works where the script is not on the path."""

import sys

from surefoot.cli import main

if __name__ == "__main__":
    sys.exit(main())
