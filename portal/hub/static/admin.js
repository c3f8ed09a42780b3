// JupyterHub's list of users: names the buttons that show only an arrow.

const users = document.getElementById("react-admin-hook");

function nameButtons() {
  for (const button of users.querySelectorAll("button[aria-controls]:not([aria-label])")) {
    button.setAttribute("aria-label", `Details of ${button.getAttribute("aria-controls").replace(/-collapse$/, "")}`);
  }
}

new MutationObserver(nameButtons).observe(users, { childList: true, subtree: true });
nameButtons();
