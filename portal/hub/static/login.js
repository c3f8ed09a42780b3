// The button that shows the password while it is typed. Without JavaScript there is none.

const input = document.getElementById("password_input");
const button = document.getElementById("password_show");

function show(isShown) {
  input.type = isShown ? "text" : "password";
  button.querySelector("[data-word]").textContent = isShown ? "Hide" : "Show";
}

if (input) {
  button.hidden = false;
  button.addEventListener("click", () => {
    show(input.type === "password");
    input.focus();
  });
  // Browsers offer what was typed as text again, to whoever uses the computer next.
  input.form.addEventListener("submit", () => show(false));
  window.addEventListener("pageshow", () => show(false));
}
