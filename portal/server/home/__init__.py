"""The portal's files in a user's home: templates and the links to the shared storage."""
