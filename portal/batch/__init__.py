"""What runs in a batch job in place of a session: a notebook to its end, in its own kernel."""
