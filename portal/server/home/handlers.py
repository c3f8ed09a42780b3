"""The REST interface `portal/api/templates`: the launcher's cards, and one restored."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import APIHandler

from portal.server.authorization import for_the_user
from portal.server.errors import TemplateError
from portal.server.home.home import Home
from portal.server.home.template_cards import list_cards, restore_template


class TemplatesHandler(APIHandler):
    """The templates of the site."""

    auth_resource = "contents"

    def initialize(self, home: Home) -> None:
        """Take what the route was registered with."""
        self.home = home

    @for_the_user
    async def get(self) -> None:
        """List them, and what the copying of this session has to say."""
        specs = await ensure_async(self.kernel_spec_manager.get_all_specs())
        kernels = {name: Path(spec["spec"]["argv"][0]) for name, spec in specs.items()}
        cards = await asyncio.to_thread(list_cards, self.home.sources, kernels)
        self.finish(
            {
                "templates": [card.as_json() for card in cards],
                "beside": self.home.beside,
                "problems": self.home.problems,
            }
        )

    @for_the_user
    async def post(self) -> None:
        """Restore one.

        Source:
            `{"name": "tensorflow/digits.ipynb"}`; 200 and `{"kept": path or ""}`, or an error's
            status and `{"message": sentence}`.
        """
        try:
            name = self._name()
            kept = await asyncio.to_thread(restore_template, self.home.sources, Path.home(), name)
        except TemplateError as error:
            self.set_status(error.http_status)
            self.finish({"message": error.message})
            return
        self.finish({"kept": kept})

    def _name(self) -> str:
        try:
            name = json.loads(self.request.body)["name"]
        except (ValueError, KeyError, TypeError):
            name = None
        if not isinstance(name, str) or "\0" in name:
            raise TemplateError('Name the template to restore: {"name": "folder/file.ipynb"}.')
        return name
