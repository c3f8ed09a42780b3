"""Messages to users about their sessions: what happened, its words, and where they go."""
