"""Fields of the form other than the number of GPUs; each is shown only if there is a choice."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from dsportal.amounts import (
    SECONDS_PER_HOUR,
    format_duration,
    format_option_hours,
    format_time_left,
)
from portal.hub.form.gpu_choices import distinct_nodes
from portal.hub.formatting import format_clock
from spawner.options.job_options import JobOptions, offered_gpu_types
from spawner.options.limit_messages import OwnedLimits
from spawner.options.limits import Limits
from spawner.options.option_table import OPTIONS, plain_options
from spawner.slurm.catalog import Catalog
from spawner.slurm.gres import SHARD, GpuCount
from spawner.slurm.scontrol import Reservation

# A short look, half a day's work, the guide's eight hours, a day, and longer trainings.
_PRESET_HOURS = (1, 2, 4, 8, 12, 24, 48, 72, 120, 168)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One value of a field.

    Attributes:
        value: What is sent; "" leaves the choice to the site.
        detail: Additional text, such as its free GPUs.
        is_chosen: Initially marked.
        refusal: Why the user cannot have it; "" if they can.
    """

    value: str
    label: str
    detail: str = ""
    is_chosen: bool = False
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One choice of the form.

    Attributes:
        name: Name of the option in a request.
    """

    name: str
    label: str
    items: tuple[Item, ...]


def main_fields(catalog: Catalog, bounds: OwnedLimits, selected: JobOptions) -> tuple[Field, ...]:
    """Return GPU type and partition, if there is a choice, and length, in the form's order."""
    fields = (
        _gpu_types(catalog, bounds.own, selected),
        _partitions(catalog, bounds, selected),
        _hours(catalog, bounds, selected),
        *(
            _plain(key, bounds.own, selected)
            for key, option in plain_options()
            if not option.is_advanced
        ),
    )
    return tuple(field for field in fields if len(field.items) > 1)


def advanced_fields(
    limits: Limits,
    selected: JobOptions,
    reservations: Mapping[str, Reservation] | None,
    now: datetime,
) -> tuple[Field, ...]:
    """Return the collapsed fields, such as the QOS, if the site offers some, in the form's order.

    `reservations` are Slurm's, by name; None if it did not answer. `now` is in the time zone of
    this host.
    """
    # Slurm gives a reservation's times as local time without a zone.
    local = now.replace(tzinfo=None)
    fields = (
        _with_times(field, reservations, local) if field.name == "reservation" else field
        for field in (
            _plain(key, limits, selected) for key, option in plain_options() if option.is_advanced
        )
    )
    return tuple(field for field in fields if len(field.items) > 1)


def _gpu_types(catalog: Catalog, limits: Limits, selected: JobOptions) -> Field:
    types = offered_gpu_types(catalog, limits)
    nodes = distinct_nodes(
        catalog, (selected.partition,) if selected.partition else limits.partitions
    )
    items = []
    for name in types:
        count = sum((node.count_gpus(name) for node in nodes), start=GpuCount())
        label = "a share of a GPU" if name == SHARD else name
        place = f"The partition {selected.partition} has none." if not count.total else ""
        items.append(
            Item(
                value=name,
                label=label,
                detail=format_free(count),
                is_chosen=selected.gpu_type == name,
                refusal=place,
            )
        )
    # One type and "any" would be the same choice.
    if len(types) < 2:
        return _field("gpu_type", ())
    any_type = Item(value="", label="any", is_chosen=selected.gpu_type is None)
    return _field("gpu_type", (any_type, *items))


def _partitions(catalog: Catalog, bounds: OwnedLimits, selected: JobOptions) -> Field:
    names = bounds.site.partitions
    if len(names) < 2:
        return _field("partition", ())
    items = [Item(value="", label="any that fits", is_chosen=selected.partition is None)]
    for name in names:
        count = catalog.count_gpus(name, selected.gpu_type)
        items.append(
            Item(
                value=name,
                label=name,
                detail=format_free(count),
                is_chosen=selected.partition == name,
                refusal=bounds.why_not_partition(name),
            )
        )
    return _field("partition", tuple(items))


def _hours(catalog: Catalog, bounds: OwnedLimits, selected: JobOptions) -> Field:
    longest_s = bounds.site.max_walltime_s
    chosen_s = selected.walltime_s or bounds.own.first_walltime_s
    lengths_s = {hours * SECONDS_PER_HOUR for hours in _PRESET_HOURS}
    # The site's default and limit, and what a link asks for, are seldom among the presets.
    lengths_s |= {bounds.site.first_walltime_s, longest_s, chosen_s}
    most_s = catalog.max_walltime_s(selected.partition) if selected.partition else None
    items = []
    for length_s in sorted(length_s for length_s in lengths_s if length_s <= longest_s):
        refusal = bounds.why_not_walltime(length_s)
        if not refusal and most_s is not None and length_s > most_s:
            refusal = f"{selected.partition} allows {format_duration(most_s)}."
        items.append(
            Item(
                value=format_option_hours(length_s),
                label=format_duration(length_s),
                is_chosen=length_s == chosen_s,
                refusal=refusal,
            )
        )
    return _field("hours", tuple(items))


def _field(key: str, items: tuple[Item, ...]) -> Field:
    return Field(name=key, label=OPTIONS[key].label, items=items)


def _plain(key: str, limits: Limits, selected: JobOptions) -> Field:
    chosen = selected.name(key)
    left_out = Item(value="", label=OPTIONS[key].left_out, is_chosen=chosen is None)
    items = (Item(value=name, label=name, is_chosen=name == chosen) for name in limits.names(key))
    return _field(key, (left_out, *items))


def _with_times(field: Field, known: Mapping[str, Reservation] | None, now: datetime) -> Field:
    # If Slurm did not answer, none is ruled out.
    if known is None:
        return field
    items = [
        item if not item.value else _with_time(item, known.get(item.value), now)
        for item in field.items
    ]
    return replace(field, items=tuple(items))


def _with_time(item: Item, reservation: Reservation | None, now: datetime) -> Item:
    if reservation is None or reservation.ends_at <= now:
        return replace(item, refusal="It is over, or Slurm does not have it.")
    return replace(item, detail=_time_left(reservation, now))


def _time_left(reservation: Reservation, now: datetime) -> str:
    if reservation.starts_at > now:
        return f"begins {format_clock(reservation.starts_at, now)}"
    return f"{format_time_left((reservation.ends_at - now).total_seconds())} left"


def format_free(count: GpuCount) -> str:
    """Return "3 of 8 free", or "" if there are none at all."""
    return f"{count.free} of {count.total} free" if count.total else ""
