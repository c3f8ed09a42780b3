"""Git in a session: its settings, its panel, and courses that links fetch."""
