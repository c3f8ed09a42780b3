"""The table [assistant] of portal.toml."""

from dataclasses import dataclass

from portal.settings.validators import url
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class AssistantSettings:
    """A language model that users ask from a cell: `%ask why does this fail?`.

    Kernels ask it themselves, as the user. It sees what the user sends.
    """

    base_url: str = setting(
        "Address of an API like OpenAI's, such as http://10.77.0.5:8000/v1 of a vLLM on the"
        " cluster. Empty: %ask is not offered.",
        default="",
        check=url(
            *("http", "https"),
            sentence='it must look like "http://10.77.0.5:8000/v1".',
            may_have_path=True,
        ),
    )
    model: str = setting("Name of the model there.", default="")
    tools: bool = setting(
        "Whether it may ask to run a cell, read a file, list jobs, read their output and queue a"
        " notebook. The user is asked each time. A vLLM needs --enable-auto-tool-choice for it.",
        default=False,
    )

    def __post_init__(self) -> None:
        if self.base_url and not self.model:
            raise ValueError("it has a base_url and lacks the key 'model'.")
