"""The hub's log: as JSON, and without what must not be in it."""
