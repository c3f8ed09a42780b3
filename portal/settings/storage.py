"""The table [storage] of portal.toml."""

# ruff: noqa: RUF009 - setting() returns a dataclass field, not a shared value

from dataclasses import dataclass
from pathlib import Path

from portal.settings.validators import (
    check_folder,
    check_template_sources,
    check_user_folder,
)
from spawner.settings.schema import setting


@dataclass(frozen=True, kw_only=True)
class StorageSettings:
    """Folders that users find in their file browser."""

    isilon: str = setting(
        "Where the compute nodes mount the shared storage. Empty: the site has none by this name,"
        " see [storage.NAME].",
        default="/srv/isilon",
        check=check_folder,
    )
    datasets: str = setting(
        "Folder of the data sets that templates read, on the compute nodes. Empty: datasets in the"
        " first shared storage.",
        default="",
        check=check_folder,
    )
    cache: str = setting(
        "A folder for each user for models that programs download (HF_HOME, TORCH_HOME,"
        " KERAS_HOME), with {user} for the account. Empty: their usual folders in the home.",
        default="",
        example="/scratch/{user}/models",
        check=check_user_folder,
    )
    models: str = setting(
        "Folder with models that the site has downloaded, which users' programs then find. Only its"
        " owner and root may be able to change it. Empty: none.",
        default="",
        example="/srv/isilon/models",
        check=check_folder,
    )
    templates: Path = setting(
        "Folder of the template notebooks on the compute nodes. Each user gets a copy.",
        default=Path("/opt/data-scientist-portal/templates"),
    )
    site_templates: tuple[str, ...] = setting(
        "Further templates, each copied to a folder of the same name: folders on the compute nodes,"
        " or git repositories (https:// or ssh://) that the nodes reach.",
        default=(),
        example=("/srv/isilon/our_templates",),
        check=check_template_sources,
    )
    warning_percent: float = setting(
        "Use of a folder, in percent, from which the home page warns that it is almost full.",
        default=90.0,
        lowest=1,
        highest=100,
    )
