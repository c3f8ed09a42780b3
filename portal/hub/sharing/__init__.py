"""Sharing of sessions: who may come in and what for, with the routes of pages and sessions."""
