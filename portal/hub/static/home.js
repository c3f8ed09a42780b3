// The server page: stop the session, then show the page again as it is now.

const stop = document.getElementById("stop");
const state = document.getElementById("session-state");

async function stopSession() {
  stop.disabled = true;
  stop.textContent = "Stopping…";
  state.textContent = "Stopping";
  const answer = await fetch(stop.dataset.url, {
    method: "DELETE",
    headers: { "X-XSRFToken": window.jhdata.xsrf_token },
  });
  if (!answer.ok) {
    const said = await answer.json().catch(() => ({}));
    throw new Error(said.message || `The hub answered ${answer.status}.`);
  }
}

stop?.addEventListener("click", () => {
  stopSession()
    .then(() => window.location.reload())
    .catch((error) => {
      stop.disabled = false;
      stop.textContent = "Stop My Server";
      const problem = document.getElementById("stop-problem");
      problem.textContent = `The session could not be stopped: ${error.message} Try again.`;
      problem.hidden = false;
    });
});

// A session that starts or stops changes without the user's doing.
if (document.body.querySelector("[data-pending]")) {
  setTimeout(() => window.location.reload(), 3000);
}
