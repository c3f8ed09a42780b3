"""One user's request, parsed and checked against the cluster and the site's limits."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dsportal.amounts import count, format_duration
from dsportal.slurm.errors import OptionsError
from spawner.options.limits import Limits
from spawner.options.option_table import OPTIONS, plain_options
from spawner.slurm.names import is_name
from spawner.slurm.resources import Resources, ResourcesPerGpu

if TYPE_CHECKING:
    from spawner.slurm.catalog import Catalog

_WHOLE_NUMBER = re.compile(r"[0-9]{1,6}", re.ASCII)
_HOURS = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,4})?", re.ASCII)
# Longer text is cut before it is shown back.
_SHOWN_LENGTH = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """One request for a session; None lets the site decide.

    Attributes:
        n_gpus: GPUs on the one node, 0 or more.
        cluster: Name of a further cluster; empty for the first one.
        gpu_type: Slurm's name of a GPU type, MIG profile or shard.
        walltime_s: Length of the session in seconds.
        names: Key and name of each plain option that was given, such as ("qos", "long").
        is_rescue: A small session without a GPU that writes nothing into the home folder.
    """

    n_gpus: int = 1
    cluster: str = ""
    gpu_type: str | None = None
    partition: str | None = None
    walltime_s: int | None = None
    names: tuple[tuple[str, str], ...] = ()
    is_rescue: bool = False

    @classmethod
    def parse(cls, mapping: Mapping[str, object], *, max_gpus: int | None = None) -> JobOptions:
        """Return the options in a form or in a REST body, not yet checked against the cluster.

        Args:
            mapping: Values by option name. Forms give lists of one text, REST gives JSON values;
                an empty text, an empty list or an absent key leaves the choice to the site.
            max_gpus: The limit that an error about a wrong number names; None for no such limit.

        Raises:
            OptionsError: If a key is unknown or a value is not of its kind.
        """
        for key in mapping:
            if key not in OPTIONS:
                raise OptionsError(
                    f"A session has no option {_shown(key)}. Valid options: {', '.join(OPTIONS)}."
                )
        is_rescue = _parse_rescue(mapping)
        return cls(
            n_gpus=0 if is_rescue else _parse_gpus(mapping, max_gpus),
            cluster=parse_cluster(mapping),
            gpu_type=_parse_name(mapping, "gpu_type"),
            partition=_parse_name(mapping, "partition"),
            walltime_s=_parse_hours(_only(mapping, "hours")),
            names=tuple(
                (key, name) for key, _ in plain_options() if (name := _parse_name(mapping, key))
            ),
            is_rescue=is_rescue,
        )

    def name(self, key: str) -> str | None:
        """Return the name that was given for a plain option."""
        return dict(self.names).get(key)

    def check(self, catalog: Catalog, limits: Limits, shape: ResourcesPerGpu) -> Resources:
        """Return the resources, if the site allows them and a node of the cluster can hold them."""
        _check_offered("partition", self.partition, limits.partitions)
        for key, option in plain_options():
            _check_offered(option.called, self.name(key), limits.names(key))
        self._check_gpu_type(catalog, limits)
        if not self.is_rescue:
            self._check_gpus(catalog, limits)
        if self.walltime_s is not None and self.walltime_s > limits.max_walltime_s:
            raise OptionsError(
                f"You asked for {format_duration(self.walltime_s)}; a session may last at most "
                f"{format_duration(limits.max_walltime_s)}{_set_by(limits)}. Ask for a shorter one."
            )
        return shape.resources(self.n_gpus)

    def choose_partition(self, catalog: Catalog, limits: Limits) -> str | None:
        """Return the partition of the job.

        Returns:
            The one asked for, or the first offered one with a node that has the GPUs; None for
            Slurm's default partition.
        """
        if self.partition or not limits.partitions:
            return self.partition
        for name in limits.partitions:
            if catalog.largest_node_gpus(partition=name, gpu_type=self.gpu_type) >= self.n_gpus:
                return name
        # None can hold it: the check that follows names the limit.
        return limits.partitions[0]

    def _check_gpus(self, catalog: Catalog, limits: Limits) -> None:
        most = most_gpus(catalog, limits, partition=self.partition, gpu_type=self.gpu_type)
        if limits.min_gpus <= self.n_gpus <= most:
            return
        if most < limits.min_gpus:
            raise OptionsError(
                f"You asked for {count(self.n_gpus, 'GPU')}, but you may not use any in "
                f"{_where(self.partition, self.gpu_type)}. "
                "Choose another partition or GPU type, or ask the administrators."
            )
        is_limit = limits.max_gpus_for(self.gpu_type) == most
        whose = "you may use" if is_limit else "the largest node has"
        choice = f"{limits.min_gpus} to " * (limits.min_gpus < most) + count(most, "GPU")
        raise OptionsError(
            f"You asked for {count(self.n_gpus, 'GPU')}; "
            f"in {_where(self.partition, self.gpu_type)} {whose} {most}"
            f"{_set_by(limits) if is_limit else ''}. Choose {choice}."
        )

    def _check_gpu_type(self, catalog: Catalog, limits: Limits) -> None:
        if self.gpu_type is None:
            return
        if limits.gpu_types:
            _check_offered("GPU type", self.gpu_type, limits.gpu_types)
        if _largest_node_gpus(catalog, limits, self.partition, self.gpu_type) < 1:
            raise OptionsError(
                f"You asked for a GPU of type {self.gpu_type}; "
                f"{_where(self.partition, None)} has none. "
                "Choose another type, or leave the option out to get any."
            )


def parse_cluster(mapping: Mapping[str, object]) -> str:
    """Return the cluster in a `mapping` of `JobOptions.parse`; empty for the first one."""
    return _parse_name(mapping, "cluster") or ""


def offered_gpu_types(catalog: Catalog, limits: Limits) -> tuple[str, ...]:
    """Return the GPU types that a user can name: sorted, from the offered partitions."""
    # None is Slurm's default partition.
    partitions = limits.partitions or (None,)
    present = {name for partition in partitions for name in catalog.gpu_types(partition)}
    return tuple(sorted(present.intersection(limits.gpu_types) if limits.gpu_types else present))


def most_gpus(
    catalog: Catalog, limits: Limits, *, partition: str | None = None, gpu_type: str | None = None
) -> int:
    """Return the most GPUs that one session of this user can get.

    That is the smaller of the user's limit and the GPUs of the largest node. No partition is all
    that are offered, no type any GPU.
    """
    largest = _largest_node_gpus(catalog, limits, partition, gpu_type)
    limit = limits.max_gpus_for(gpu_type)
    return largest if limit is None else min(largest, limit)


def _largest_node_gpus(
    catalog: Catalog, limits: Limits, partition: str | None, gpu_type: str | None
) -> int:
    # None is Slurm's default partition, which counts only where the site names none.
    partitions: Iterable[str | None] = (partition,) if partition else limits.partitions or (None,)
    return max(catalog.largest_node_gpus(partition=name, gpu_type=gpu_type) for name in partitions)


def _only(mapping: Mapping[str, object], key: str) -> object:
    # Forms send lists, and an empty text for a field that was left empty.
    value = mapping.get(key, "")
    if isinstance(value, list | tuple):
        if len(value) > 1:
            raise OptionsError(
                f"{_label(key)} was given {len(value)} times: {_shown(value)}. "
                "Give it once, with one value."
            )
        value = value[0] if value else ""
    if value is None and key in mapping:
        raise OptionsError(
            f"{_label(key)} was given no value (null). "
            "Leave the option out for the site's default, or give a value."
        )
    return None if value == "" else value


def _parse_gpus(mapping: Mapping[str, object], max_gpus: int | None) -> int:
    # Not `_only`: the error about this option names the limit.
    value = mapping.get("gpus", "")
    if isinstance(value, list | tuple) and len(value) < 2:
        value = value[0] if value else ""
    if value == "":
        return 1
    # `type`, for JSON's true is an int to isinstance.
    if type(value) is int and 0 <= value < 10**6:
        return value
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        return int(value)
    choice = "1 or more" if max_gpus is None else f"1 to {max_gpus}"
    raise OptionsError(
        f"You asked for {_shown(value)} GPUs, which is not a number of GPUs that a session "
        f"can have. Choose a whole number, {choice}."
    )


def _parse_rescue(mapping: Mapping[str, object]) -> bool:
    value = _only(mapping, "rescue")
    if value in (None, "0", False):
        return False
    others = [key for key in ("gpus", "gpu_type", "hours") if _only(mapping, key) is not None]
    if others or value not in ("1", True):
        raise OptionsError(
            f"The option rescue was given as {_shown(value)}{', with ' * bool(others)}"
            f"{', '.join(others)}. A rescue session has no GPU and a fixed length: "
            "give rescue as 1 or true, without gpus, gpu_type and hours."
        )
    return True


def _parse_hours(value: object) -> int | None:
    if value is None:
        return None
    hours = 0.0
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Not any text that float() takes: "nan" and "1e9" are no lengths.
    if is_number or (isinstance(value, str) and _HOURS.fullmatch(value)):
        # An integer in JSON may be too large for a float.
        with contextlib.suppress(OverflowError):
            hours = float(value)  # type: ignore[arg-type]
    # A minute is the shortest time limit in Slurm.
    if not 1 / 60 <= hours <= 10_000:
        raise OptionsError(
            f"You asked for {_shown(value)} hours, which is not a length that a session can have. "
            "Give a number of hours such as 8 or 1.5."
        )
    return round(hours * 3600)


def _parse_name(mapping: Mapping[str, object], key: str) -> str | None:
    value = _only(mapping, key)
    if value is None:
        return None
    if isinstance(value, str) and is_name(value):
        return value
    raise OptionsError(
        f"{_label(key)} was given as {_shown(value)}, which is not one name. "
        "Give a name without commas and control characters that does not begin with a dash."
    )


def _check_offered(what: str, name: str | None, offered: tuple[str, ...]) -> None:
    if name is None or name in offered:
        return
    if not offered:
        raise OptionsError(
            f"You asked for the {what} {name}, but this site does not let users choose one. "
            "Leave the option out."
        )
    raise OptionsError(
        f"You asked for the {what} {name}, which is not available to you. "
        f"Choose from {', '.join(offered)}."
    )


def _label(key: str) -> str:
    return "The number of GPUs" if key == "gpus" else f"The option {key}"


def _shown(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}…"


def _where(partition: str | None, gpu_type: str | None) -> str:
    place = f"the partition {partition}" if partition else "the cluster"
    return f"{place} (GPU type {gpu_type})" if gpu_type else place


def _set_by(limits: Limits) -> str:
    return f" (limit of {limits.set_by})" if limits.set_by else ""
