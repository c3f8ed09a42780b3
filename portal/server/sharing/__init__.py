"""Others in a session: whom its owner has let in, and what they may do."""
