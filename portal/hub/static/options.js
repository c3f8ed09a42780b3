// The form works without this; it keeps times and free GPUs up to date, and a second click from
// sending it twice.

import "address";
import { hideSignedOut, leadsToLogin, showSignedOut } from "sign-in";

const REFRESH_MS = 60_000;
const LIMITS_MS = 1_000;
const form = document.getElementById("spawn_form");
const offer = document.getElementById("offer");
const link = document.getElementById("choice-link");
const limitsNote = document.getElementById("limits-note");
let asked = 0;

function chosen() {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value && name !== "_xsrf") query.set(name, value);
  return query;
}

function write(card, name, text) {
  const place = card.querySelector(`[data-${name}]`);
  if (place.textContent !== text) place.textContent = text;
}

function showChoice(choice) {
  const card = form.querySelector(`[data-gpus="${choice.n_gpus}"]`);
  if (!card) return;
  for (const name of ["cores", "memory", "hours"]) write(card, name, choice[name]);
  write(card, "note", choice.refusal || choice.note);
  write(card, "start", choice.refusal ? "not available to you" : choice.start);
  card.querySelector("[data-start]").className = `portal-state portal-state-${choice.tone}`;
  const input = card.querySelector("input");
  input.disabled = Boolean(choice.refusal);
  if (input.disabled && input.checked) {
    const next = form.querySelector("input[name=gpus]:not(:disabled)");
    if (next) next.checked = true;
  }
}

function showItem(field, item) {
  const input = form.querySelector(`input[name="${field.name}"][value="${item.value}"]`);
  if (!input) return;
  write(input.parentElement, "detail", item.detail);
  write(input.parentElement, "refusal", item.refusal);
  // What is marked stays, with its reason: the user decides what to change.
  input.disabled = Boolean(item.refusal) && !input.checked;
}

function show(answer) {
  answer.choices.forEach(showChoice);
  for (const field of answer.fields) field.items.forEach((item) => showItem(field, item));
  write(offer, "free", answer.free);
  write(offer, "budget", answer.budget);
  limitsNote.hidden = answer.has_all_limits;
  // Accounting is slow after a start of the hub only.
  if (!answer.has_all_limits) setTimeout(refreshQuietly, LIMITS_MS);
}

function showLink() {
  link.search = chosen();
}

async function refresh() {
  const mine = ++asked;
  const answer = await fetch(`${offer.dataset.choicesUrl}?${chosen()}`);
  if (leadsToLogin(answer)) return showSignedOut();
  // Only the answer to the latest request counts; without one the page stays as it is.
  if (answer.ok && mine === asked) {
    hideSignedOut();
    show(await answer.json());
  }
  showLink();
}

function refreshQuietly() {
  if (!document.hidden) refresh().catch(() => {});
}

if (offer) {
  form.addEventListener("change", (event) => {
    showLink();
    // Another cluster has other partitions, sizes and limits: a form of its own.
    if (event.target.name === "cluster") window.location.search = chosen();
    else if (event.target.name !== "gpus") refreshQuietly();
  });
  setInterval(refreshQuietly, REFRESH_MS);
  refreshQuietly();
}

form?.addEventListener("submit", () => {
  const start = form.querySelector("button[type=submit]");
  start.disabled = true;
  start.textContent = "Starting…";
});

// Coming back with the browser's back button must not find a dead button.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});
