"""Courses: repositories that a link fetches into the home."""
