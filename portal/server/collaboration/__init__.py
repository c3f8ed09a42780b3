"""Several people in one document, in sessions that may be shared."""
