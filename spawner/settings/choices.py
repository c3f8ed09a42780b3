"""The table [choices] of portal.toml."""

from dataclasses import dataclass

from spawner.settings.schema import setting
from spawner.slurm.names import is_name


def check_slurm_names(names: tuple[str, ...]) -> str:
    """Refuse names that cannot be options of a session: Slurm accounts, QOS, GPU types, pages."""
    wrong = [name for name in names if not is_name(name)]
    return f"{wrong[0]!r} is not one name: no comma, no dash in front." if wrong else ""


@dataclass(frozen=True, kw_only=True)
class ChoiceSettings:
    """What users may choose. Slurm's own limits of a user count as well."""

    max_gpus: int = setting(
        "Most GPUs of one session. 0: as many as the largest node has.",
        default=0,
        lowest=0,
        highest=1024,
    )
    allow_cpu_only: bool = setting(
        "Whether sessions without a GPU are offered.",
        default=True,
    )
    gpu_types: tuple[str, ...] = setting(
        "GPU types, MIG profiles or shards offered. Empty: all that Slurm has.",
        default=(),
        check=check_slurm_names,
    )
    accounts: tuple[str, ...] = setting(
        "Slurm accounts that users may name on the form. Empty: each has their default account.",
        default=(),
        check=check_slurm_names,
    )
    qos: tuple[str, ...] = setting(
        "Slurm's qualities of service that users may name. Empty: none.",
        default=(),
        check=check_slurm_names,
    )
    reservations: tuple[str, ...] = setting(
        "Slurm reservations that users may name. Empty: none.",
        default=(),
        check=check_slurm_names,
    )
    opens: tuple[str, ...] = setting(
        'Pages on which users may choose to land in place of JupyterLab: "Notebook", "Terminal",'
        ' "VS Code", and titles of web tools. Empty: no choice.',
        default=("Notebook", "Terminal"),
        check=check_slurm_names,
        trait=None,
    )
    sessions_per_user: int = setting(
        "Most sessions of one user at a time. If 2 or more, the home page lets users add named"
        " sessions.",
        default=1,
        lowest=1,
        highest=100,
        trait=None,
    )
