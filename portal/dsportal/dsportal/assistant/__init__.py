"""What `%ask` does: a language model answers, and acts by tools that its user allows."""
