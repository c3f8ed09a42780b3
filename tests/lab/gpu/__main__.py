"""`python -m tests.lab.gpu`: see `tests/run gpu --help`."""

import sys

from tests.lab.gpu.program import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
