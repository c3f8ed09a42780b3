"""REST API `portal/api/templates`: list the launcher's template cards, copy and restore one."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.base.handlers import APIHandler

from dsportal.slurm.errors import OptionsError
from portal.server.base.feature import RegisteredKernels
from portal.server.base.rest import Route, body_value, route
from portal.server.templates.cards import TemplateCard, list_cards
from portal.server.templates.copies import Copy, copy_template, restore_template
from portal.server.templates.home import Home
from portal.server.templates.kernels import OfferedKernel, packages_beside, parse_packages

# Trying an image takes seconds; a hanging one must not hold up all cards.
_MOST_WAIT_S = 10.0


def template_routes(home: Home, kernels: RegisteredKernels) -> list[Route]:
    """Return the routes of templates and of users' copies of them."""

    def cards(specs: Mapping[str, Mapping[str, Any]]) -> list[TemplateCard]:
        known = kernels.packages(timeout_s=_MOST_WAIT_S)
        # Shipped kernels first, then the site's environments, then the user's.
        names = [*(name for name in specs if name not in known), *(n for n in known if n in specs)]
        return list_cards(
            home.sources, {name: _offered(specs[name], known.get(name)) for name in names}
        )

    async def list_all(request: APIHandler) -> dict[str, Any]:
        specs = await ensure_async(request.kernel_spec_manager.get_all_specs())
        described = {name: spec["spec"] for name, spec in specs.items()}
        return {
            "templates": [card.as_json() for card in await asyncio.to_thread(cards, described)],
            "beside": home.beside,
            "problems": home.problems,
        }

    async def restore(request: APIHandler) -> dict[str, str]:
        name = _template_name(request)
        return {"kept": await asyncio.to_thread(restore_template, home.sources, Path.home(), name)}

    async def copy(request: APIHandler) -> Copy:
        name = _template_name(request)
        spec = await _kernelspec(request, body_value(request, "kernel"))
        sources, folder_name = home.sources, home.copies_folder_name
        return await asyncio.to_thread(copy_template, sources, Path.home(), name, spec, folder_name)

    return [
        route(r"/portal/api/templates", "contents", get=list_all, post=restore),
        route(r"/portal/api/templates/copies", "contents", post=copy),
    ]


async def _kernelspec(request: APIHandler, kernel: Any) -> dict[str, str] | None:
    if not isinstance(kernel, str) or not kernel:
        return None
    try:
        spec = await ensure_async(request.kernel_spec_manager.get_kernel_spec(kernel))
    # It may be gone since the cards were listed; Jupyter then asks for another one.
    except KeyError:
        return None
    return {"name": kernel, "display_name": spec.display_name, "language": spec.language}


def _template_name(request: APIHandler) -> str:
    name = body_value(request, "name")
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
