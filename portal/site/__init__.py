"""The administrators' commands: checks, status, drain, users, backup, upgrade."""
