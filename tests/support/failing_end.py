"""A server extension that fails when the server ends."""

from jupyter_server.extension.application import ExtensionApp


class FailingEnd(ExtensionApp):
    """Fails as an extension does that was loaded by half."""

    name = "failing_end"

    async def stop_extension(self) -> None:
        """Fail."""
        raise AttributeError("what the start should have made")


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    return [{"module": "tests.support.failing_end", "app": FailingEnd}]
