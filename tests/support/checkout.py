"""The checkout that is tested, and what a Python needs on PYTHONPATH to import its packages."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
# The one folder with the package `dsportal`.
LIBRARY = CHECKOUT / "portal/dsportal"
PYTHONPATH = f"{CHECKOUT}:{LIBRARY}"
# The program of Python kernels.
KERNEL = LIBRARY / "dsportal/start/kernel.py"
