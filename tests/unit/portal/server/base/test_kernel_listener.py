"""One connection to each kernel tells all parts what it publishes, and that it ended or died."""

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from jupyter_client.ioloop import AsyncIOLoopKernelManager
from jupyter_client.session import Session

from portal.server.base.kernel_listener import Death, KernelListener, Published
from portal.server.kernels.execution import CellState, Execution
from portal.server.kernels.execution_watch import ExecutionWatch
from portal.server.session.cells import CellRuns


class Stream:
    """A connection to what a kernel publishes."""

    is_closed = False
    receive: Callable[[list[Any]], None]

    def on_recv(self, receive: Callable[[list[Any]], None]) -> None:
        self.receive = receive

    def closed(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True


class Kernel:
    """A kernel that publishes what the test says."""

    def __init__(self) -> None:
        self.session = Session(key=b"of the kernel")
        self.streams: list[Stream] = []

    def connect_iopub(self) -> Stream:
        self.streams.append(Stream())
        return self.streams[-1]

    def publish(self, kind: str, content: dict[str, Any], key: bytes = b"of the kernel") -> None:
        parent = {"msg_id": "e1", "msg_type": "execute_request"}
        sender = Session(key=key)
        message = sender.msg(kind, content, parent=parent)
        for stream in self.streams:
            stream.receive(sender.serialize(message, ident=b"topic"))


class KernelManager:
    """Watches one kernel as Jupyter's manager does."""

    def __init__(self) -> None:
        self.kernel = Kernel()
        self.config: Any = None

    def start_watching_activity(self, kernel_id: str) -> None:
        """Jupyter's own, which is wrapped."""

    def stop_watching_activity(self, kernel_id: str) -> None:
        """Jupyter's own, which is wrapped."""

    def get_kernel(self, kernel_id: str) -> Kernel:
        return self.kernel

    def update_config(self, config: Any) -> None:
        self.config = config


@pytest.fixture
def listener() -> KernelListener:
    return KernelListener(logging.getLogger("test"))


@pytest.fixture
def manager(listener: KernelListener) -> KernelManager:
    manager = KernelManager()
    listener.watch(manager)
    return manager


def test_cells_and_their_output_are_followed_over_one_connection(
    listener: KernelListener, manager: KernelManager
) -> None:
    runs, watch = CellRuns(), ExecutionWatch(listener)
    runs.listen(listener)
    manager.start_watching_activity("k1")
    executions = watch.watch("k1")
    executions.send(Execution(id="e1", tab="tab", cell_id="cell 1", code="fit()"))

    manager.kernel.publish("execute_input", {"code": "fit()", "execution_count": 3})
    manager.kernel.publish("stream", {"name": "stdout", "text": "epoch 1\n"})

    assert len(manager.kernel.streams) == 1
    assert [(run.number, run.title) for run in runs.list_runs()] == [(3, "fit()")]
    (listed,) = executions.as_json()
    assert [output["content"]["text"] for output in listed["outputs"]] == ["epoch 1\n"]


def test_the_cells_of_a_kernel_that_is_shut_down_run_no_longer(
    listener: KernelListener, manager: KernelManager
) -> None:
    runs = CellRuns()
    runs.listen(listener)
    manager.start_watching_activity("k1")
    manager.kernel.publish("execute_input", {"code": "fit()", "execution_count": 1})

    manager.stop_watching_activity("k1")

    assert runs.list_runs() == []
    assert manager.kernel.streams[0].is_closed


def test_a_kernel_that_gets_other_addresses_is_listened_to_once(manager: KernelManager) -> None:
    manager.start_watching_activity("k1")
    manager.start_watching_activity("k1")

    assert [stream.is_closed for stream in manager.kernel.streams] == [True, False]


def test_a_long_output_is_read_once_and_only_if_somebody_asks() -> None:
    reads: list[str] = []

    def unpack() -> dict[str, Any]:
        reads.append("read")
        return {"text": "epoch 1"}

    message = Published(
        kernel_id="k1",
        kind="stream",
        parent_id="e1",
        parent_kind="execute_request",
        metadata={},
        unpack=unpack,
    )
    assert reads == []

    assert [message.content, message.content] == [{"text": "epoch 1"}] * 2

    assert reads == ["read"]


def test_the_history_of_cells_reads_no_output(
    listener: KernelListener, manager: KernelManager
) -> None:
    CellRuns().listen(listener)
    heard: list[Published] = []
    listener.on_message(heard.append)
    manager.start_watching_activity("k1")

    manager.kernel.publish("stream", {"name": "stdout", "text": "epoch 1"})

    assert "content" not in vars(heard[0])


def test_a_message_that_is_not_the_kernels_is_reported_and_told_to_nobody(
    listener: KernelListener, manager: KernelManager, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Published] = []
    listener.on_message(heard.append)
    manager.start_watching_activity("k1")

    manager.kernel.publish("stream", {}, key=b"of somebody else")

    assert heard == []
    assert "A message of kernel k1 cannot be read" in caplog.text


def test_a_part_that_cannot_read_a_message_keeps_it_from_no_other(
    listener: KernelListener, manager: KernelManager
) -> None:
    def fail(message: Published) -> None:
        raise KeyError(message.kind)

    heard: list[Published] = []
    listener.on_message(fail)
    listener.on_message(heard.append)
    manager.start_watching_activity("k1")

    manager.kernel.publish("stream", {})

    assert [message.kind for message in heard] == ["stream"]


def fire_death(manager: KernelManager) -> None:
    kernel = AsyncIOLoopKernelManager()
    kernel.kernel_id = "k1"  # type: ignore[assignment]
    kernel.provisioner = SimpleNamespace(process=SimpleNamespace(returncode=-9))  # type: ignore[assignment]
    restarter = manager.config.AsyncIOLoopKernelManager.restarter_class(kernel_manager=kernel)
    restarter._fire_callbacks("restart")


def test_a_death_is_told_with_its_status(listener: KernelListener, manager: KernelManager) -> None:
    deaths: list[Death] = []
    listener.on_death(deaths.append)
    fire_death(manager)

    assert deaths == [Death(kernel_id="k1", status=-9, is_restarted=True)]


def test_a_dead_kernel_runs_no_cell(listener: KernelListener, manager: KernelManager) -> None:
    runs, watch = CellRuns(), ExecutionWatch(listener)
    runs.listen(listener)
    sent = watch.watch("k1")
    sent.send(Execution(id="e1", tab="t", cell_id="c", code="abort()"))
    runs.take("k1", "execute_input", "execute_request", {"code": "abort()", "execution_count": 3})

    fire_death(manager)

    assert [each.state for each in sent.list_executions()] == [CellState.DONE]
    assert runs.list_runs() == []
