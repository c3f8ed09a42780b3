// The waiting page: follows the hub's event stream and moves along the steps of a start.

const page = document.getElementById("waiting");
const steps = [...page.querySelectorAll("[data-step]")];
const log = document.getElementById("waiting-log");
const cancel = document.getElementById("cancel");
const title = document.title;

// Other spawners send only a percentage.
function stepOf(event) {
  if (event.step) return event.step;
  const bounds = [10, 40, 70, 100];
  const index = bounds.findIndex((bound) => (event.progress ?? 0) < bound);
  return steps[index < 0 ? steps.length - 1 : index].dataset.step;
}

function show(event) {
  const current = steps.findIndex((step) => step.dataset.step === stepOf(event));
  steps.forEach((step, index) => {
    const isReady = event.ready && index === current;
    step.dataset.state = index < current || isReady ? "done" : index === current ? "now" : "next";
    step.toggleAttribute("aria-current", index === current);
    if (index === current) {
      step.querySelector(".portal-step-message").textContent = event.message ?? "";
      document.title = `${step.querySelector(".portal-step-name").textContent} · ${title}`;
    }
  });
}

function write(event) {
  const line = document.createElement("li");
  line.textContent = event.message ?? "";
  log.append(line);
}

const stream = new EventSource(page.dataset.progressUrl);
// The stream tells everything from the start each time it is opened.
stream.addEventListener("open", () => log.replaceChildren());
stream.addEventListener("message", (message) => {
  const event = JSON.parse(message.data);
  write(event);
  if (event.ready || event.failed) {
    stream.close();
    if (event.ready) show({ ...event, step: "ready", message: "Opening JupyterLab." });
    window.location.reload();
  } else {
    show(event);
  }
});
stream.addEventListener("error", () => {
  if (stream.readyState === EventSource.CLOSED) setTimeout(() => window.location.reload(), 3000);
});

cancel.addEventListener("click", async () => {
  cancel.disabled = true;
  cancel.textContent = "Cancelling…";
  stream.close();
  const answer = await fetch(cancel.dataset.url, {
    method: "DELETE",
    headers: { "X-XSRFToken": window.jhdata.xsrf_token },
  });
  if (answer.ok) {
    window.location.assign(cancel.dataset.home);
  } else {
    window.location.reload();
  }
});
