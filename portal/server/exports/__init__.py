"""Exports of notebooks: which formats this node can make, and PDF."""
