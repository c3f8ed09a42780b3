"""A server extension that lets a TensorBoard idle for a second: less than a site may choose."""

from typing import Any

from portal.settings.tensorboard import TensorBoardSettings


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    # All extensions are asked for their points before the first of them is loaded.
    TensorBoardSettings.idle_s = property(lambda _: 1.0)  # type: ignore
    return [{"module": "tests.support.hasty_tensorboards"}]


def _load_jupyter_server_extension(serverapp: Any) -> None:
    pass
