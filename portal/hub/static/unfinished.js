// What a session would lose if it were stopped now, as its open tabs say.

const CHANNEL = "data-scientist-portal";
// Messages between tabs take milliseconds, also to those in the background. Whoever leaves the page
// earlier has stopped nothing.
const TIMEOUT_MS = 300;

// The question to ask before the session at this address is stopped; "" if nothing would be lost.
export function questionBeforeStop(url) {
  const channel = new BroadcastChannel(CHANNEL);
  const busy = new Set();
  const unsaved = new Set();
  // Tabs of other sessions answer, too, each with the address of its own.
  channel.addEventListener("message", ({ data }) => {
    if (data?.session !== url) return;
    data.busy.forEach((path) => busy.add(path));
    data.unsaved.forEach((path) => unsaved.add(path));
  });
  channel.postMessage({ ask: "unfinished" });
  return new Promise((resolve) => {
    setTimeout(() => {
      channel.close();
      const parts = [];
      if (busy.size) parts.push(`Still computing: ${[...busy].join(", ")}.`);
      if (unsaved.size) parts.push(`Not saved: ${[...unsaved].join(", ")}.`);
      resolve(parts.length ? `${parts.join(" ")} Stop the session all the same?` : "");
    }, TIMEOUT_MS);
  });
}
