"""The user's setting of whether variables come along, where JupyterLab keeps it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from jupyter_server.serverapp import ServerApp
from jupyterlab_server.settings_utils import get_settings
from tornado.web import HTTPError

from portal.server.kernel_jobs.request import GpuRequest, Variables
from portal.server.kernel_jobs.talk import Talk

_PLUGIN = "data-scientist-portal:kernel-gpus"
_QUESTION = "Do the variables come along?"


def read_preference(server: ServerApp) -> Variables:
    """Return the setting, or that of the site, of the user of a notebook server with JupyterLab."""
    (lab,) = server.extension_manager.extension_apps["jupyterlab"]
    folders = [*lab.extra_labextensions_path, *lab.labextensions_path]
    try:
        found, _ = get_settings(
            *(lab.app_settings_dir, lab.schemas_dir, lab.user_settings_dir, _PLUGIN),
            labextensions_path=folders,
        )
    except HTTPError:
        # Of a file that JupyterLab cannot read either, and shows as empty.
        return Variables.ALWAYS
    of_site = found["schema"]["properties"]["variables"]["default"]
    return Variables(found["settings"].get("variables", of_site))


async def settle(
    request: GpuRequest, talk: Talk | None, read: Callable[[], Variables]
) -> GpuRequest:
    """Return a request that says whether the variables come along.

    Args:
        talk: With the cell that asks, if one does. Its user is asked, if that is the setting;
            without one they come along.
        read: Returns the setting.
    """
    variables = request.variables or await asyncio.to_thread(read)
    if variables is Variables.ASK:
        is_wanted = talk is None or await talk.ask(_QUESTION)
        variables = Variables.ALWAYS if is_wanted else Variables.NEVER
    return replace(request, variables=variables)
