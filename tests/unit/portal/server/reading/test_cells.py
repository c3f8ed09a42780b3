"""What guests see of a cell runs nothing and loads nothing."""

from typing import Any

import pytest

pytest.importorskip("nbconvert", reason="nbconvert is not installed")

from portal.server.reading import cells
from portal.server.reading.cells import TOO_LARGE, Renderer, sanitize

# Its first cell loads nbconvert's templates, which takes longest.
RENDERER = Renderer()


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    common = {"id": "a", "cell_type": "code", "metadata": {}, "execution_count": 1}
    return {**common, "source": source, "outputs": list(outputs)}


def display(**data: str) -> dict[str, Any]:
    named = {name.replace("_", "/", 1): text for name, text in data.items()}
    return {"output_type": "display_data", "metadata": {}, "data": named}


async def html_of(cell: dict[str, Any]) -> str:
    (view,) = await RENDERER.render([cell], "python")
    return view.html


async def test_code_and_outputs_are_there() -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": "epoch <1>"}
    table = "<style scoped>.x{}</style><table><tbody><tr><td>42</td></tr></tbody></table>"
    html = await html_of(code("x = 1", stream, display(text_html=table, text_plain="T")))
    assert "epoch &lt;1&gt;" in html
    assert "<tbody><tr><td>42</td></tr></tbody>" in html
    assert "scoped" not in html
    assert ".x{}" not in html


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<img src='https://attacker.example.com/pixel.png'>",
        "<img src='data:image/svg+xml;base64,AAAA'>",
        "<a href='javascript:alert(1)'>x</a>",
        "<a href='data:text/html,x'>x</a>",
        "<form action='/hub/logout'><button>x</button></form>",
        "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
        "<svg onload=alert(1)></svg>",
        "<p onclick=alert(1) id=state data-part=state>x</p>",
        "<p style='position:fixed;background:url(//attacker.example.com)'>x</p>",
        "<meta http-equiv=refresh content='0;url=//attacker.example.com'>",
        "<link rel=stylesheet href='//attacker.example.com'>",
        "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
    ],
)
async def test_what_a_notebook_contains_does_nothing(evil: str) -> None:
    markdown = {"id": "b", "cell_type": "markdown", "metadata": {}, "source": evil}
    for cell in (code("1", display(text_html=evil)), markdown):
        html = (await html_of(cell)).lower()
        for word in ("<script", "onerror", "onload", "onclick", "javascript:", "<iframe", "<form"):
            assert f"{word}=" not in html
            assert word not in html or f"&lt;{word[1:]}" in html
        assert "attacker.example.com" not in html.replace("&", "") or "<img src" not in html
        for word in ("data-part", "id=", "position", "url(", "<meta", "<link", "<svg", "href="):
            assert word not in html


async def test_programs_among_the_outputs_are_left_out() -> None:
    html = await html_of(code("1", display(application_javascript="alert(1)", text_plain="plain")))
    assert "alert" not in html
    assert "plain" in html


async def test_a_cell_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[str] = []
    real = Renderer._render

    def render(self: Renderer, cell: Any, language: str) -> str:
        rendered.append(cell["source"])
        return real(self, cell, language)

    monkeypatch.setattr(Renderer, "_render", render)
    renderer = Renderer()
    (before,) = await renderer.render([code("x")], "python")
    await renderer.render([code("x")], "python")
    (after,) = await renderer.render([code("y")], "python")
    assert rendered == ["x", "y"]
    assert before.digest != after.digest


async def test_a_cell_that_is_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "MOST_HTML_CHARACTERS", 100)
    assert await html_of(code("x" * 200)) == TOO_LARGE


def test_a_link_to_the_web_stays() -> None:
    assert sanitize('<a href="https://example.com">x</a>') == '<a href="https://example.com">x</a>'
