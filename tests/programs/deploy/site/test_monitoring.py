"""Dashboard and alerts name metrics that there are, and each alert has its line in the run-book."""

import json
import math
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import jupyterhub.metrics
import prometheus_client
import pytest
import requests
import yaml

import spawner.metrics
from tests.support.eventually import eventually
from tests.support.private_hub import free_ports

CHECKOUT = Path(__file__).parents[4]
MONITORING = CHECKOUT / "deploy/site/monitoring"
GUIDE = CHECKOUT / "docs/operate/metrics.md"
PROMETHEUS = Path("/usr/bin/prometheus")
_METRIC = re.compile(r"\b(?:dsportal|jupyterhub)_[a-z_]+")


def dashboard_expressions() -> list[str]:
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]


def alerts() -> list[dict[str, str]]:
    rules: list[dict[str, str]] = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][
        0
    ]["rules"]
    return rules


def expressions() -> list[str]:
    return [*dashboard_expressions(), *(rule["expr"] for rule in alerts())]


def known_metrics() -> set[str]:
    assert spawner.metrics.SESSIONS
    assert jupyterhub.metrics.RUNNING_SERVERS
    suffixes = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("_total",)}
    return {
        metric.name + suffix
        for metric in prometheus_client.REGISTRY.collect()
        for suffix in suffixes.get(metric.type, ("",))
    }


@pytest.mark.parametrize("expression", expressions())
def test_every_expression_asks_for_metrics_that_there_are(expression: str) -> None:
    named = set(_METRIC.findall(expression))

    assert named - known_metrics() == set()
    assert named or "up{" in expression
    assert expression.count("(") == expression.count(")")


class Prometheus:
    """A running Prometheus; `value` asks it what Grafana would ask."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def values(self, expression: str) -> list[float]:
        """Return the values of an expression now, without those that are no numbers.

        Raises:
            AssertionError: If Prometheus does not understand it.
        """
        asked = {"query": expression.replace("$__rate_interval", "5m")}
        answer = requests.get(f"{self.url}/api/v1/query", params=asked, timeout=10).json()
        assert answer["status"] == "success", answer
        numbers = [float(one["value"][1]) for one in answer["data"]["result"]]
        return [number for number in numbers if not math.isnan(number)]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has scraped a hub's metrics, which change, and has loaded the alerts."""
    folder = tmp_path_factory.mktemp("prometheus")
    metrics_port, port = free_ports(2)
    scrape = {"job_name": "dsportal", "scrape_interval": "250ms", "scrape_timeout": "250ms"}
    config = {
        "rule_files": [str(MONITORING / "alerts.yml")],
        "scrape_configs": [
            {**scrape, "static_configs": [{"targets": [f"127.0.0.1:{metrics_port}"]}]}
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    server, _ = prometheus_client.start_http_server(metrics_port, "127.0.0.1")
    argv = [
        *(PROMETHEUS, f"--config.file={folder / 'prometheus.yml'}"),
        *(f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{port}"),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(argv, stdout=log, stderr=log)
    try:
        yield Prometheus(port)
    finally:
        process.terminate()
        process.wait(20)
        server.shutdown()
        server.server_close()


def let_a_hub_work() -> None:
    """Change the metrics as a hub does whose users start sessions while Slurm fails at times."""
    spawner.metrics.show_sessions(lambda: {"running": 3, "waiting": 1})
    spawner.metrics.SESSION_STARTS.labels("started").inc()
    spawner.metrics.SESSION_WAIT_SECONDS.observe(20)
    spawner.metrics.SESSION_START_SECONDS.observe(4)
    spawner.metrics.FORECAST_ERROR_SECONDS.observe(60)
    spawner.metrics.SLURM_CALL_SECONDS.labels("squeue", "").observe(0.1)
    spawner.metrics.SLURM_FAILURES.labels("squeue", "no_answer", "").inc()
    jupyterhub.metrics.RUNNING_SERVERS.set(3)
    jupyterhub.metrics.ACTIVE_USERS.labels(period="24h").set(5)
    handler = "jupyterhub.handlers.login.LoginHandler"
    labels = {"method": "GET", "handler": handler, "code": 200}
    jupyterhub.metrics.REQUEST_DURATION_SECONDS.labels(**labels).observe(0.1)


@pytest.mark.skipif(not PROMETHEUS.exists(), reason=f"no {PROMETHEUS}; Debian has it")
def test_prometheus_has_a_value_for_every_query_of_the_dashboard(prometheus: Prometheus) -> None:
    asked = dashboard_expressions()

    def has_all() -> bool:
        let_a_hub_work()
        return [each for each in asked if not prometheus.values(each)] == []

    def is_up() -> bool:
        try:
            return requests.get(f"{prometheus.url}/-/ready", timeout=5).ok
        except requests.ConnectionError:
            return False

    eventually(is_up, timeout_s=30)
    eventually(has_all, timeout_s=30)
    assert prometheus.values('sum(dsportal_sessions{state="running"})') == [3]
    groups = requests.get(f"{prometheus.url}/api/v1/rules", timeout=10).json()["data"]["groups"]
    rules = {rule["name"]: rule["health"] for group in groups for rule in group["rules"]}
    assert rules.keys() == {rule["alert"] for rule in alerts()}
    assert "err" not in rules.values()
    for rule in alerts():
        prometheus.values(rule["expr"])


def test_every_panel_has_what_grafana_needs() -> None:
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    panels = dashboard["panels"]

    assert dashboard["schemaVersion"] >= 36
    assert len({panel["id"] for panel in panels}) == len(panels)
    sources = {f"${{{one['name']}}}" for one in dashboard["templating"]["list"]}
    for panel in panels:
        assert panel["title"]
        assert panel["datasource"]["uid"] in sources
        ids = [target["refId"] for target in panel["targets"]]
        assert len(set(ids)) == len(ids) >= 1


def test_every_alert_has_its_line_in_the_guide() -> None:
    section = GUIDE.read_text().partition("## Alerts\n")[2].partition("\n## ")[0]

    assert {rule["alert"] for rule in alerts()} == set(re.findall(r"^\| `(\w+)` \|", section, re.M))


def test_panels_neither_overlap_nor_leave_the_page() -> None:
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
