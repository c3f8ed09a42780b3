"""The pages of settings have what `dsportal config reference` prints."""

from docs import make_settings


def test_the_pages_are_up_to_date() -> None:
    for name, text in make_settings.render_settings().items():
        page = make_settings.DOCS_DIR / f"reference/{name}.md"
        assert page.read_text(encoding="utf-8") == text, "run docs/make_settings.py"
