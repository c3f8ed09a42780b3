// The home page: stops a session without leaving the page; without this the form does it.

import "refresh";
import { sendSignedIn } from "sign-in";
import { questionBeforeStop } from "unfinished";

// As the page will say it when it is loaded again; returns what takes it back.
function showStopping(card) {
  const state = card.querySelector(".portal-state");
  const sentence = card.querySelector("[data-sentence]");
  const links = card.querySelectorAll("a.btn");
  const before = [state.className, state.textContent, sentence.innerHTML];
  state.className = "portal-state portal-state-wait";
  state.textContent = "Stopping";
  sentence.textContent = "The job leaves the cluster in a few seconds.";
  for (const link of links) link.hidden = true;
  return () => {
    [state.className, state.textContent, sentence.innerHTML] = before;
    for (const link of links) link.hidden = false;
  };
}

async function stopSession(form) {
  const card = form.closest(".portal-card");
  const button = form.querySelector("button");
  const label = button.textContent;
  button.disabled = true;
  const question = await questionBeforeStop(form.dataset.sessionUrl);
  if (question && !window.confirm(question)) {
    button.disabled = false;
    return;
  }
  button.textContent = "Stopping…";
  const restore = showStopping(card);
  const answer = await sendSignedIn(form.dataset.stopUrl, "DELETE").catch(() => undefined);
  if (answer?.ok) {
    window.location.reload();
    return;
  }
  button.disabled = false;
  button.textContent = label;
  restore();
  if (answer === null) return;
  const said = await answer?.json().catch(() => ({}));
  const reason = said?.message || (answer ? `The hub answered ${answer.status}.` : "The hub does not answer.");
  const problem = card.querySelector("[data-stop-problem]");
  problem.textContent = `The session could not be stopped: ${reason} Try again.`;
  problem.hidden = false;
}

// Forms come and go as the page is refreshed.
document.addEventListener("submit", (event) => {
  if (!event.target.dataset.stopUrl) return;
  event.preventDefault();
  stopSession(event.target);
});
