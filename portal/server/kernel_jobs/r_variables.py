"""The variables of an R kernel that moves: R saves its workspace, and the next R loads it."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.manager import AsyncKernelManager

from portal.server.kernel_jobs.errors import KernelJobError
from portal.server.kernel_jobs.folder import make_folder
from portal.server.kernel_jobs.talk import own_session
from portal.server.kernel_jobs.variables import Saved, ask_kernel, check_answer, save_order
from portal.settings.kernel_jobs import KernelJobSettings

_HOLD, _MOVES, _SAID = "hold", "moves", "said.json"
_LOOK_S = 0.1
_CELL_END_S = 20.0
# Connections and pointers into libraries are nothing in another process; data.table makes its own
# anew. A network's folder is current when it is listed, not when one name in it is asked for.
_SAVE = """\
local({
    folder <- %(folder)s
    say <- function(...) {
        writeLines(jsonlite::toJSON(list(...), auto_unbox = TRUE), file.path(folder, "new"))
        file.rename(file.path(folder, "new"), file.path(folder, "said.json"))
    }
    holds_pointer <- function(value) {
        found <- FALSE
        look <- function(one) {
            if (typeof(one) %%in%% c("externalptr", "weakref")) found <<- TRUE
            NULL
        }
        nowhere <- file("/dev/null", "wb")
        on.exit(close(nowhere))
        serialize(value, nowhere, refhook = look)
        found && !inherits(value, "data.table")
    }
    save_all <- function() {
        setTimeLimit(elapsed = %(max_s)d, transient = TRUE)
        on.exit(setTimeLimit())
        names <- ls(globalenv(), all.names = TRUE)
        size_of <- function(name) as.numeric(object.size(get(name, globalenv())))
        sizes <- vapply(names, size_of, 0)
        if (sum(sizes) > %(max_bytes).0f) {
            largest <- names[which.max(sizes)]
            return(say(refused = paste0("They need too much space. Largest: ", largest, ".")))
        }
        lost <- Filter(function(name) holds_pointer(get(name, globalenv())), names)
        kind_of <- function(name) paste0(name, " (", class(get(name, globalenv()))[1], ")")
        lost_words <- I(unname(vapply(lost, kind_of, "")))
        kept <- setdiff(names, lost)
        file <- file.path(folder, "variables.RData")
        save(list = kept, file = file, envir = globalenv(), compress = FALSE)
        about <- list(packages = rev(.packages()), folder = getwd())
        saveRDS(about, file.path(folder, "about.rds"))
        say(saved = length(kept), bytes = file.size(file), lost = lost_words)
    }
    save_all()
    while ("hold" %%in%% list.files(folder)) Sys.sleep(0.1)
    if ("moves" %%in%% list.files(folder)) stop("The kernel starts anew in another place.")
})
"""
_RESTORE = """\
local({
    folder <- %(folder)s
    about <- readRDS(file.path(folder, "about.rds"))
    for (name in about$packages) {
        suppressPackageStartupMessages(library(name, character.only = TRUE))
    }
    load(file.path(folder, "variables.RData"), envir = globalenv())
    if (dir.exists(about$folder)) setwd(about$folder)
})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedByR(Saved):
    """What R has saved."""

    async def _restore(
        self, client: AsyncKernelClient, told: str | None, has_ended: Callable[[], Awaitable[bool]]
    ) -> dict[str, Any]:
        await ask_kernel(client, _RESTORE % {"folder": json.dumps(str(self.folder))}, has_ended)
        return {"lost": []}


class HeldR:
    """A cell in which R waits until it is known whether it moves."""

    def __init__(self, folder: Path, client: AsyncKernelClient, asked: str) -> None:
        self._folder = folder
        self._client = client
        self._asked = asked

    def ready(self, text: str) -> None:
        """Let the cell end with an error, so that those behind it do not run."""
        (self._folder / _MOVES).touch()
        (self._folder / _HOLD).unlink()

    async def until_the_cell_is_over(self) -> None:
        """Wait for its end."""
        with suppress(queue.Empty):
            reply: dict[str, Any] = {"parent_header": {}}
            while reply["parent_header"].get("msg_id") != self._asked:
                reply = await self._client.get_shell_msg(timeout=_CELL_END_S)


@asynccontextmanager
async def saved_by_r(
    kernel: AsyncKernelManager, settings: KernelJobSettings, tell: Callable[[str], None]
) -> AsyncIterator[tuple[Saved, HeldR]]:
    """Have R save its workspace, and wait for as long as it takes to load it elsewhere."""
    folder = make_folder("variables")
    client = kernel.client(session=own_session(kernel))
    client.start_channels(iopub=False, stdin=False, hb=False)
    try:
        (folder / _HOLD).touch()
        tell("The variables are being saved.")
        order = save_order(folder, settings)
        code = _SAVE % {**order, "folder": json.dumps(str(folder))}
        asked = client.execute(code, store_history=False, allow_stdin=False)
        said = check_answer(await _said(kernel, client, asked, folder))
        lost = tuple(said["lost"])
        notice = f"Not restored: {'; '.join(lost)}." if lost else ""
        yield (
            SavedByR(
                folder=folder,
                n_variables=said["saved"],
                n_bytes=said["bytes"],
                lost=lost,
                notice=notice,
            ),
            HeldR(folder, client, asked),
        )
    finally:
        client.stop_channels()
        # R looks for it.
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _said(
    kernel: AsyncKernelManager, client: AsyncKernelClient, asked: str, folder: Path
) -> dict[str, Any]:
    while _SAID not in await asyncio.to_thread(os.listdir, folder):
        try:
            reply = await client.get_shell_msg(timeout=_LOOK_S)
        except queue.Empty:
            if not await kernel.is_alive():
                raise KernelJobError("The kernel has ended, so it does not move.") from None
            continue
        if reply["parent_header"].get("msg_id") == asked:
            why = reply["content"].get("evalue") or "It was interrupted."
            raise KernelJobError(f"The variables cannot be saved. {why}")
    return dict(json.loads((folder / _SAID).read_text("utf-8")))
