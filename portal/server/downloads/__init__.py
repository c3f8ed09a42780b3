"""Sites that allow no downloads: their routes refuse, their menu entries go."""
