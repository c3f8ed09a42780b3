// The form works without this; it only keeps a second click from sending it twice.

document.getElementById("spawn_form")?.addEventListener("submit", (event) => {
  const start = event.target.querySelector("button[type=submit]");
  start.disabled = true;
  start.textContent = "Starting…";
});

// Coming back with the browser's back button must not find a dead button.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});
