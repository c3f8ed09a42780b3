from tests.support.portal_toml import settings

__all__ = ["settings"]
