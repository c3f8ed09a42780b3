"""What a user may ask for, and the request that comes of it.

Pure but for the traits: it knows the catalog of the cluster and the limits, not sessions.
"""
