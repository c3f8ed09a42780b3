"""Web tools listed by the site; each starts when its tab is opened."""
