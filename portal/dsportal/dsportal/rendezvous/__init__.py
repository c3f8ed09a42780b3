"""Rendezvous: how the ranks of a run find each other, with every framework."""
