"""``python -m gapbook`` is the command ``gapbook``."""

import sys

from gapbook.start import main

if __name__ == "__main__":
    sys.exit(main())
