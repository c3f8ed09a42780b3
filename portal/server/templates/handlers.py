"""REST API `portal/api/templates`: list the launcher's template cards, copy and restore one."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import APIHandler

from dsportal.slurm.errors import OptionsError
from portal.server.base.authorization import RouteArguments, for_the_user
from portal.server.base.feature import RegisteredKernels
from portal.server.templates.cards import TemplateCard, list_cards
from portal.server.templates.copies import copy_template, restore_template
from portal.server.templates.home import Home
from portal.server.templates.kernels import OfferedKernel, packages_beside, parse_packages

# Trying an image takes seconds; a hanging one must not hold up all cards.
_MOST_WAIT_S = 10.0


class TemplatesHandler(RouteArguments, APIHandler):
    """The templates of the site."""

    auth_resource = "contents"
    home: Home
    kernels: RegisteredKernels

    @for_the_user
    async def get(self) -> None:
        """List them, with the new releases and problems of this session's copying."""
        specs = await ensure_async(self.kernel_spec_manager.get_all_specs())
        described = {name: spec["spec"] for name, spec in specs.items()}
        cards = await asyncio.to_thread(self._cards, described)
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
        name = template_name(self.request.body)
        kept = await asyncio.to_thread(restore_template, self.home.sources, Path.home(), name)
        self.finish({"kept": kept})

    def _cards(self, specs: Mapping[str, Mapping[str, Any]]) -> list[TemplateCard]:
        known = self.kernels.packages(timeout_s=_MOST_WAIT_S)
        # Shipped kernels first, then the site's environments, then the user's.
        names = [*(name for name in specs if name not in known), *(n for n in known if n in specs)]
        return list_cards(
            self.home.sources, {name: _offered(specs[name], known.get(name)) for name in names}
        )


class TemplateCopiesHandler(RouteArguments, APIHandler):
    """The user's copies of templates."""

    auth_resource = "contents"
    home: Home

    @for_the_user
    async def post(self) -> None:
        """Make or update one.

        Source:
            `{"name": "tensorflow/digits.ipynb", "kernel": name or ""}`; 200 and `{"path": path,
            "beside": path or ""}`, or an error's status and `{"message": sentence}`.
        """
        name = template_name(self.request.body)
        spec = await self._kernelspec(json.loads(self.request.body).get("kernel"))
        sources, folder_name = self.home.sources, self.home.copies_folder_name
        copy = await asyncio.to_thread(copy_template, sources, Path.home(), name, spec, folder_name)
        self.finish(asdict(copy))

    async def _kernelspec(self, kernel: Any) -> dict[str, str] | None:
        if not isinstance(kernel, str) or not kernel:
            return None
        try:
            spec = await ensure_async(self.kernel_spec_manager.get_kernel_spec(kernel))
        # It may be gone since the cards were listed; Jupyter then asks for another one.
        except KeyError:
            return None
        return {"name": kernel, "display_name": spec.display_name, "language": spec.language}


def template_name(body: bytes) -> str:
    """Return the template that a request names."""
    try:
        name = json.loads(body)["name"]
    except (ValueError, KeyError, TypeError):
        name = None
    if not isinstance(name, str) or "\0" in name:
        raise OptionsError('Name the template: {"name": "folder/file.ipynb"}.')
    return name


def _offered(spec: Mapping[str, Any], packages: tuple[str, ...] | None) -> OfferedKernel:
    program = Path(spec["argv"][0])
    return OfferedKernel(
        program=program,
        language=str(spec.get("language", "python")),
        packages=packages_beside(program) if packages is None else parse_packages(packages),
    )


def template_routes(home: Home, kernels: RegisteredKernels) -> list[Any]:
    """Return the routes of templates and of users' copies of them."""
    return [
        (r"/portal/api/templates", TemplatesHandler, {"home": home, "kernels": kernels}),
        (r"/portal/api/templates/copies", TemplateCopiesHandler, {"home": home}),
    ]
