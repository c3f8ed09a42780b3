// The page of tokens: makes and revokes them through JupyterHub's REST interface.

import { localise } from "moments";
import { sendSignedIn } from "sign-in";

const form = document.getElementById("new-token");
const made = document.getElementById("made-token");
const value = document.getElementById("made-value");
const copied = document.getElementById("copied");
const problem = document.getElementById("token-problem");

// The answer, or null after the page has said what is wrong.
async function ask(url, method, body) {
  problem.hidden = true;
  const answer = await sendSignedIn(url, method, body).catch(() => undefined);
  if (answer?.ok || answer === null) return answer;
  const said = await answer?.json().catch(() => ({}));
  const reason = said?.message || (answer ? `The hub answered ${answer.status}.` : "The hub does not answer.");
  problem.textContent = `${reason} Try again.`;
  problem.hidden = false;
  return null;
}

// The command dsportal leads here for a token that may use sessions.
if (new URLSearchParams(window.location.search).get("for") === "sessions") {
  form.elements.note.value = "dsportal";
  form.elements.scopes.value = "servers!user access:servers!user";
}

async function showLists() {
  const answer = await fetch(window.location.href, { headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("token-lists");
  if (!fresh) return;
  localise(fresh);
  document.getElementById("token-lists").replaceWith(document.adoptNode(fresh));
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { note, scopes, expires_in } = Object.fromEntries(new FormData(form));
  const body = { note, expires_in: Number(expires_in) };
  // Without scopes a token has all of its owner's.
  if (scopes) body.scopes = scopes.split(" ");
  const answer = await ask(form.dataset.url, "POST", body);
  if (!answer) return;
  value.value = (await answer.json()).token;
  copied.textContent = "";
  made.hidden = false;
  form.reset();
  value.focus();
  value.select();
  await showLists();
});

document.getElementById("copy-token").addEventListener("click", async () => {
  value.select();
  // Without TLS browsers keep the clipboard to themselves.
  const isCopied = await navigator.clipboard?.writeText(value.value).then(() => true, () => false);
  copied.textContent = isCopied ? "Copied." : "Press Ctrl+C to copy it.";
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-revoke]");
  if (!button) return;
  const row = button.closest("tr");
  const name = row.querySelector("th").textContent.trim();
  if (!window.confirm(`Revoke "${name}"? Programs that use it are refused from now on.`)) return;
  button.disabled = true;
  const answer = await ask(`${form.dataset.url}/${button.dataset.revoke}`, "DELETE");
  button.disabled = false;
  if (answer) await showLists();
});
