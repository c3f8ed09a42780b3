"""What the portal keeps in a user's home: templates and the link to the shared storage."""
