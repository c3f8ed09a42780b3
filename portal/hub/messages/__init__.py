"""What a site tells its users: announcements, maintenance, why an administrator ended a session."""
