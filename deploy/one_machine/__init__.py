"""The whole portal on one machine: cluster, accounts, hub and proxy."""
