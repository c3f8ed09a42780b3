"""Mail to users about their sessions: what happened, its words, and the way to the mail server."""
