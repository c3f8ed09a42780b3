"""JupyterHub side: settings, login, form and pages."""
