"""The hub's side of the portal: settings, login, form and pages."""
