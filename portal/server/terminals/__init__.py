"""Terminals of JupyterLab, with the commands of sessions."""
