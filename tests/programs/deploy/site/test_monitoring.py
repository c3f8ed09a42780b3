"""Dashboard and alerts name metrics that there are, and each alert has its line in the run-book."""

import json
import re
import subprocess
from pathlib import Path

import jupyterhub.metrics
import prometheus_client
import pytest
import yaml

import spawner.metrics
from deploy.environments.builder import unpacked
from deploy.environments.builder.plan import Plan

CHECKOUT = Path(__file__).parents[4]
MONITORING = CHECKOUT / "deploy/site/monitoring"
GUIDE = CHECKOUT / "docs/operate/metrics.md"
PROMTOOL = unpacked.program(Plan(), unpacked.promtool_package(), unpacked.PROMTOOL)
_METRIC = re.compile(r"\b(?:dsportal|jupyterhub)_[a-z_]+")


def expressions() -> list[str]:
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    return asked + [rule["expr"] for rule in rules]


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


@pytest.mark.skipif(not PROMTOOL.exists(), reason=f"no {PROMTOOL}; the target promtool unpacks it")
def test_prometheus_reads_the_alerts_and_every_expression(tmp_path: Path) -> None:
    asked = tmp_path / "asked.yml"
    rules = [{"record": f"one:{n}", "expr": text} for n, text in enumerate(expressions())]
    text = yaml.safe_dump({"groups": [{"name": "asked", "rules": rules}]})
    asked.write_text(text.replace("$__rate_interval", "5m"))

    for path in (MONITORING / "alerts.yml", asked):
        done = subprocess.run(
            [PROMTOOL, "check", "rules", path], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


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
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    section = GUIDE.read_text().partition("## Alerts\n")[2].partition("\n## ")[0]

    assert {rule["alert"] for rule in rules} == set(re.findall(r"^\| `(\w+)` \|", section, re.M))


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
