"""Administrators' requests to a running hub: operations, users, tokens, the audit log."""
