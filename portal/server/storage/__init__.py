"""The site's shared storage as users see it: its space, and files behind its links."""
