"""Packages that users install themselves, for each kernel that the portal ships."""
