"""Lifetimes of API tokens that were made without an expiry date."""

from datetime import timedelta
from typing import Any

from jupyterhub import orm
from jupyterhub.utils import utcnow
from sqlalchemy import func

# How JupyterHub 6.1 names the token of a user's server.
_SESSION_NOTE = "Server at "


def limit_tokens(database: Any, n_days: int) -> None:
    """Give tokens of users without an expiry one, `n_days` from now.

    Tokens of sessions are left alone: they end with the session. `database` is JupyterHub's session
    of SQLAlchemy.
    """
    token = orm.APIToken
    is_sessions = func.coalesce(token.note, "").startswith(_SESSION_NOTE)
    endless = database.query(token).filter(
        token.expires_at.is_(None), token.user_id.is_not(None), ~is_sessions
    )
    # JupyterHub's database keeps UTC without a zone.
    end = utcnow(with_tz=False) + timedelta(days=n_days)
    for one in endless:
        one.expires_at = end
