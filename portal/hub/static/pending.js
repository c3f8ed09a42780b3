// The waiting page: follows the hub's event stream and moves along the steps of a start.

import { timeElement, withTimes } from "moments";

const page = document.getElementById("waiting");
const steps = [...page.querySelectorAll("[data-step]")];
const facts = document.getElementById("waiting-facts");
const log = document.getElementById("waiting-log");
const cancel = document.getElementById("cancel");
const notify = document.getElementById("notify");
const note = document.getElementById("notify-note");
const title = document.title.split(" · ").slice(1).join(" · ");
let isCancelled = false;

function show(event) {
  const current = steps.findIndex((step) => step.dataset.step === event.step);
  steps.forEach((step, index) => {
    const isReady = event.ready && index === current;
    step.dataset.state = index < current || isReady ? "done" : index === current ? "now" : "next";
    if (index === current) step.setAttribute("aria-current", "step");
    else step.removeAttribute("aria-current");
    const message = index === current ? event.message : "";
    const shown = step.querySelector(".portal-step-message");
    // The same text again would be read out again.
    if (shown.textContent !== message) shown.textContent = message;
  });
  const name = steps[current]?.querySelector(".portal-step-name").textContent;
  document.title = name ? `${name} · ${title}` : title;
}

function showFacts(known) {
  facts.hidden = known.length === 0;
  facts.replaceChildren(...known.map(factElement));
}

function factElement(fact) {
  const element = document.createElement("div");
  element.classList.toggle("portal-fact-problem", fact.is_problem);
  const name = document.createElement("dt");
  name.textContent = fact.name;
  const value = document.createElement("dd");
  value.append(...withTimes(fact.text, fact.times));
  element.append(name, value);
  return element;
}

function write(event) {
  const line = document.createElement("li");
  line.append(timeElement(event.at), " ", event.message);
  log.append(line);
}

function tell(headline) {
  document.title = `${headline} · ${title}`;
  if (window.Notification?.permission !== "granted") return;
  const notification = new Notification(headline, { body: title, tag: "dsportal-start" });
  notification.addEventListener("click", () => window.focus());
}

const stream = new EventSource(page.dataset.progressUrl);
// The stream tells everything from the start each time it is opened.
stream.addEventListener("open", () => log.replaceChildren());
stream.addEventListener("message", (message) => {
  const event = JSON.parse(message.data);
  if (event.ready || event.failed) {
    stream.close();
    if (isCancelled) return;
    if (event.ready) show({ ...event, step: "ready", message: "Opening JupyterLab." });
    tell(event.ready ? "Your session is ready" : "Your session did not start");
    window.location.reload();
    return;
  }
  // JupyterHub's own first event says nothing that the page does not show.
  if (!event.step) return;
  if (event.is_new) write(event);
  showFacts(event.facts);
  show(event);
});
stream.addEventListener("error", () => {
  if (stream.readyState === EventSource.CLOSED && !isCancelled) {
    setTimeout(() => window.location.reload(), 3000);
  }
});

cancel.addEventListener("submit", () => {
  isCancelled = true;
  const button = cancel.querySelector("button");
  button.disabled = true;
  button.textContent = "Cancelling…";
});

// Browsers know notifications only on https and on the machine itself. Nobody is asked unasked.
function offerToNotify() {
  const permission = window.isSecureContext ? window.Notification?.permission : undefined;
  notify.hidden = permission !== "default";
  if (permission === "granted") note.textContent = "Your browser tells you when it starts, while this page is open.";
}

notify.addEventListener("click", async () => {
  const permission = await Notification.requestPermission();
  offerToNotify();
  if (permission === "denied") note.textContent = "Your browser does not allow it. The title of this page still tells you.";
});
offerToNotify();
