"""A logger that adds the user and the job of a session to each record."""

import logging
from collections.abc import Callable, MutableMapping
from typing import Any

from spawner.session.session import Session


class SessionLogAdapter(logging.LoggerAdapter[logging.Logger]):
    """Adds "user" and "job_id" to each record, for formatters that write fields."""

    def __init__(self, log: logging.Logger, session: Callable[[], Session]) -> None:
        super().__init__(log)
        self._session = session

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the fields to `kwargs`, the keyword arguments of a log call; `msg` stays as it is.

        Returns:
            `msg` and the new `kwargs`.
        """
        session = self._session()
        fields = {"user": session.user, "job_id": session.job_id}
        return msg, {**kwargs, "extra": {**kwargs.get("extra", {}), **fields}}
