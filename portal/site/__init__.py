"""What administrators do with a site: check it, watch it, empty it for maintenance."""
