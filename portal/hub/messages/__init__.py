"""Messages of the site to its users: announcements, drain, why a session was stopped."""
