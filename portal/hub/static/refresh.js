// Pages that change by themselves: asked for again and put in place where they differ.

import { localise } from "moments";
import { hideSignedOut, leadsToLogin, showSignedOut } from "sign-in";

const minute = 60_000;

// The words of format_time_left in portal/dsportal/dsportal/amounts.py.
function inWords(seconds) {
  const minutes = Math.floor(Math.max(0, seconds) / 60);
  if (minutes < 1) return "less than a minute";
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  return [hours ? `${hours} h` : "", rest ? `${rest} min` : ""].filter(Boolean).join(" ");
}

// When each countdown is over, by the page's own clock: the computer's may be off.
const ends = new WeakMap();

function countDown() {
  for (const element of document.querySelectorAll("[data-left-s]")) {
    if (!ends.has(element)) ends.set(element, performance.now() + Number(element.dataset.leftS) * 1000);
    const words = inWords((ends.get(element) - performance.now()) / 1000);
    if (element.textContent !== words) element.textContent = words;
  }
}

// What a page shows; its countdowns begin at another number each time.
function shown(part) {
  return part.innerHTML.replaceAll(/ data-left-s="\d+"/g, "");
}

// The parts that nobody is busy with are replaced; nothing moves where nothing has changed.
function replace(live, fresh) {
  if (live.contains(document.activeElement) && document.activeElement !== document.body) return;
  localise(fresh);
  if (shown(live) !== shown(fresh)) live.innerHTML = fresh.innerHTML;
  live.dataset.refreshS = fresh.dataset.refreshS;
  countDown();
}

async function refresh() {
  const live = document.getElementById("live");
  let pause = Number(live.dataset.refreshS) * 1000;
  if (!document.hidden) {
    try {
      const answer = await fetch(window.location.href, { headers: { Accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("live");
      if (leadsToLogin(answer)) showSignedOut();
      // An error page: what is shown stays until the next time.
      if (answer.ok && fresh) {
        hideSignedOut();
        replace(live, fresh);
        pause = Number(fresh.dataset.refreshS) * 1000;
      }
    } catch {
      pause = minute;
    }
  }
  setTimeout(refresh, pause);
}

countDown();
setInterval(countDown, 15_000);
setTimeout(refresh, Number(document.getElementById("live").dataset.refreshS) * 1000);
