"""The name that this package was imported by, for the programs that it starts."""

from __future__ import annotations

# `dsportal`, which users import, or `portal.launch` in the portal's own commands.
IMPORT_NAME = __name__.rpartition(".")[0]
