from tests.support.portal_toml import load, minimal_toml

__all__ = ["load", "minimal_toml"]
