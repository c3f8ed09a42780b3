"""Several hubs of one portal: which one has a user, and the way there after a login."""
