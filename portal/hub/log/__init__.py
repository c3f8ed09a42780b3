"""The hub's log: JSON output, and removal of secrets."""
