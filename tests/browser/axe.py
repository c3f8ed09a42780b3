"""axe-core on the page that a browser shows: what would keep people out, in words."""

from typing import Any

from playwright.sync_api import Page

from deploy.environments.builder.plan import Plan
from tests.targets import axe_script

MOST_PLACES = 5


def violations(page: Page, *, without: tuple[str, ...] = ()) -> list[str]:
    """Return what axe-core finds wrong with the page as it is shown now.

    Args:
        without: Selectors of parts that are not looked at, because others make them.

    Returns:
        For each rule that is broken one text: the rule, what it asks for, and where it is broken.
    """
    page.evaluate(axe_script(Plan()).read_text())
    context = {"exclude": [[selector] for selector in without]}
    found = page.evaluate("context => axe.run(context).then(result => result.violations)", context)
    return [_in_words(violation) for violation in found]


def expect_accessible(page: Page, *, without: tuple[str, ...] = ()) -> None:
    """Fail with the violations in words where axe-core finds any.

    Args:
        without: Selectors of parts that are not looked at, because others make them.
    """
    found = violations(page, without=without)
    assert not found, f"{page.url} is not accessible:\n" + "\n".join(found)


def _in_words(violation: dict[str, Any]) -> str:
    places = [_place(node) for node in violation["nodes"]]
    more = len(places) - MOST_PLACES
    shown = places[:MOST_PLACES] + ([f"  and {more} more"] if more > 0 else [])
    return "\n".join([f"{violation['id']}: {violation['help']}", *shown])


def _place(node: dict[str, Any]) -> str:
    what = " ".join(node["failureSummary"].split())
    return f"  {' '.join(map(str, node['target']))}: {what}\n    {node['html'][:200]}"
