"""Web tools that a site lists: each starts when its tab is opened."""
