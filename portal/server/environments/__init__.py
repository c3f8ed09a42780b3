"""Environments made in the browser: the tasks that make them, and their REST interface."""
