"""A browser in front of the portal, the pictures and the film that it takes."""

from __future__ import annotations

import contextlib
import io
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.support.eventually import eventually
from tests.support.portal_client import ADDRESS, PortalClient, demo_password, sessions_of

IMAGES_DIR = Path(__file__).resolve().parent.parent / "images"
USER, OTHER = "ada", "grace"
TIMEOUT_MS = 60_000
START_TIMEOUT_MS = 120_000
# For screens with twice as many pixels; half of them would be blurred there.
SCALE = 2
# Flat colours of pages need no more, and the repository keeps every picture of every release.
N_COLOURS = 192


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a page is looked at.

    Attributes:
        suffix: Put behind the picture's name.
        width: Of the window, pixels.
        height: Of the window, pixels; a phone's picture shows the whole page.
        colours: "light" or "dark".
    """

    suffix: str
    width: int
    height: int
    colours: Any = "light"


WIDE = Look(suffix="", width=1280, height=800)
DARK = Look(suffix="-dark", width=1280, height=800, colours="dark")
PHONE = Look(suffix="-360", width=360, height=740)
ALL_LOOKS = (WIDE, DARK, PHONE)


class Studio:
    """A browser, logged in as a demo user."""

    def __init__(self, browser: Browser, user: str = USER) -> None:
        self._browser = browser
        self._user = user
        self._client = PortalClient(user)
        self._client.login()
        self._token = self._client.token()
        with self.look() as page:
            self.log_in(page)
            self._login = page.context.storage_state()

    def of(self, user: str) -> Studio:
        """Return the studio of another demo user, in the same browser."""
        return Studio(self._browser, user)

    def log_in(self, page: Page) -> None:
        """Log in by the form."""
        page.goto(f"{ADDRESS}/hub/login")
        page.get_by_label("Username").fill(self._user)
        page.get_by_label("Password").fill(demo_password())
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile("/hub/home"))

    @contextlib.contextmanager
    def look(
        self, look: Look = WIDE, *, logged_in: bool = False, scale: float = SCALE
    ) -> Iterator[Page]:
        """Open a window."""
        context = self._browser.new_context(
            viewport={"width": look.width, "height": look.height},
            device_scale_factor=scale,
            color_scheme=look.colours,
            reduced_motion="reduce",
            storage_state=self._login if logged_in else None,
        )
        context.set_default_timeout(TIMEOUT_MS)
        yield context.new_page()
        context.close()

    def take(
        self,
        name: str,
        path: str,
        settle: Callable[[Page], object],
        *,
        looks: Sequence[Look] = ALL_LOOKS,
        logged_in: bool = True,
    ) -> None:
        """Take a picture of a page in several looks."""
        for look in looks:
            with self.look(look, logged_in=logged_in) as page:
                page.goto(f"{ADDRESS}{path}")
                settle(page)
                self.save(page, f"{name}{look.suffix}", is_whole=look is PHONE)

    def save(self, page: Page, name: str, *, is_whole: bool = False) -> None:
        """Keep what a page shows."""
        picture = Image.open(io.BytesIO(page.screenshot(full_page=is_whole))).convert("RGB")
        picture.quantize(N_COLOURS).save(IMAGES_DIR / f"{name}.png", optimize=True)
        print(f"{name}.png", flush=True)

    def start(self, n_gpus: int = 1) -> None:
        """Ask for a session of the demo user."""
        self.stop()
        # Answered when the session is ready, has failed or has waited for some seconds.
        body = {"gpus": n_gpus}
        self._client.rest("POST", f"/users/{self._user}/server", self._token, json=body)

    def stop(self) -> None:
        """End the session of the demo user."""
        self._client.rest("DELETE", f"/users/{self._user}/server", self._token)
        eventually(lambda: not sessions_of(self._user), timeout_s=30)


class Film:
    """What a page showed, as an animated picture."""

    # Longer than a reader looks at one picture; waits of the machine are no part of the film.
    LONGEST_FRAME_S = 1.5

    def __init__(self, page: Page) -> None:
        self._page = page
        self._frames: list[Image.Image] = []
        self._lengths_ms: list[int] = []

    def turn_to(self, page: Page) -> None:
        """Continue with another page."""
        self._page = page

    def show(self, length_s: float) -> None:
        """Add what the page shows now."""
        picture = Image.open(io.BytesIO(self._page.screenshot())).convert("RGB")
        self._frames.append(picture)
        self._lengths_ms.append(round(length_s * 1000))

    def follow(self, is_over: Callable[[], bool], *, timeout_s: float) -> None:
        """Add what the page shows until something has happened, as fast as it happened."""
        deadline = time.monotonic() + timeout_s
        while not is_over():
            start = time.monotonic()
            if start > deadline:
                raise TimeoutError(f"The page did not get there within {timeout_s:g} s.")
            self._page.wait_for_timeout(300)
            self.show(min(time.monotonic() - start, self.LONGEST_FRAME_S))

    def save(self, name: str) -> None:
        """Write the film to docs/images."""
        first, *others = self._frames
        path = IMAGES_DIR / f"{name}.webp"
        first.save(
            path,
            save_all=True,
            append_images=others,
            duration=self._lengths_ms,
            loop=0,
            quality=60,
            method=4,
        )
        print(f"{path.name}: {sum(self._lengths_ms) / 1000:.0f} s", flush=True)


def has_text(selector: str, text: str) -> Callable[[Page], object]:
    """Return what waits until a part of a page shows a text."""
    pattern = re.compile(text)
    return lambda page: expect(page.locator(selector)).to_contain_text(pattern, timeout=TIMEOUT_MS)
