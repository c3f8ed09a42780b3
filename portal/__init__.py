"""The Data Scientist Portal: hub pages, notebook server extension and training launcher."""
