"""`python -m dsportal.laptop`, which ssh runs if the wheel is installed."""

import sys

from dsportal.laptop.cli import main

sys.exit(main())
