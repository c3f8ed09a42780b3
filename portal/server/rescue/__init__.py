"""The way out for a user whose pages fail: a rescue session."""
