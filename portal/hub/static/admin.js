// JupyterHub's list of users: names the buttons that show only an arrow, and hides those that end or
// start all sessions at one click, and those that an administrator who only sees and stops sessions
// has no right to.

const users = document.getElementById("react-admin-hook");
const seesAndStops = users.closest("main").dataset.can === "stop";
const OF_ALL = new Set(["Start All", "Stop All"]);
const NEEDS_MORE_RIGHTS = new Set([
  "Add Users",
  "Manage Groups",
  "Shutdown Hub",
  "Start Server",
  "Spawn Page",
  "Access Server",
  "Edit User",
  "Delete Server",
]);

function nameButtons() {
  for (const button of users.querySelectorAll("button[aria-controls]:not([aria-label])")) {
    button.setAttribute("aria-label", `Details of ${button.getAttribute("aria-controls").replace(/-collapse$/, "")}`);
  }
}

function hideButtons() {
  for (const button of users.querySelectorAll("button")) {
    const words = button.textContent.trim();
    const isDead = OF_ALL.has(words) || (seesAndStops && NEEDS_MORE_RIGHTS.has(words));
    // A link around the button would stay in the order of the Tab key.
    (button.closest("a") ?? button).hidden = isDead;
  }
}

function tidy() {
  nameButtons();
  hideButtons();
}

new MutationObserver(tidy).observe(users, { childList: true, subtree: true, characterData: true });
tidy();
