"""Which variables of notebooks come along when their kernel moves, and how long 1 GB takes."""
