import pytest

from dsportal.start import kernel_ports
from dsportal.start.kernel_ports import listen


def test_a_port_in_use_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_ports, "PORT_TIMEOUT_S", 0)
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]

        with pytest.raises(SystemExit, match=f"Port {port} of 127.0.0.1 is in use. Start the"):
            listen("127.0.0.1", port)
