// Whoever is signed out is told so and led back to the same page; nothing else helps then.

const ID = "signed-out";

// Pages that need a login lead to the hub's login page.
export function leadsToLogin(answer) {
  return answer.redirected && new URL(answer.url).pathname === `${window.jhdata.base_url}login`;
}

export function showSignedOut() {
  if (document.getElementById(ID)) return;
  const notice = document.createElement("p");
  notice.id = ID;
  notice.className = "portal-problem";
  notice.setAttribute("role", "alert");
  const link = document.createElement("a");
  const here = window.location.pathname + window.location.search;
  link.href = `${window.jhdata.base_url}login?next=${encodeURIComponent(here)}`;
  link.textContent = "Sign in again";
  notice.append("You are signed out. ", link, " to continue; your sessions keep running.");
  document.querySelector("main").prepend(notice);
}

export function hideSignedOut() {
  document.getElementById(ID)?.remove();
}

// A login in another tab leaves this page with the token of the last one: the hub refuses it.
async function newToken() {
  const answer = await fetch(window.location.href, { headers: { Accept: "text/html" } });
  if (leadsToLogin(answer)) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return page.querySelector("input[name=_xsrf]")?.value ?? null;
}

function send(url, method, token, body) {
  const headers = { "X-XSRFToken": token, "Content-Type": "application/json" };
  return fetch(url, { method, headers, body: body && JSON.stringify(body) });
}

// The hub's answer, after a second try with a new token; null for a user who is signed out.
// body: what is sent as JSON, if anything.
export async function sendSignedIn(url, method, body) {
  const answer = await send(url, method, window.jhdata.xsrf_token, body);
  if (answer.status !== 403) return answer;
  const token = await newToken();
  if (token === null) {
    showSignedOut();
    return null;
  }
  window.jhdata.xsrf_token = token;
  return send(url, method, token, body);
}
