"""Large files between the user's computer and the session: uploads that resume, whole folders."""
