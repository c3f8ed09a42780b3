from tests.support.portal_toml import load, settings

__all__ = ["load", "settings"]
