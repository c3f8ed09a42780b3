"""Template notebooks, one folder per framework, with the small modules that they share."""
