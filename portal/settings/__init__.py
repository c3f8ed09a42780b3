"""The tables of portal.toml that sessions read, too, and the checks of their keys."""
