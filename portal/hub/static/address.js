// Takes the token against forged requests out of the page's address.

// The page after a refused start is the answer to a form: a reload would send that again and start
// a session that nobody asked for.
const here = new URL(window.location.href);
here.searchParams.delete("_xsrf");
window.history.replaceState(null, "", here);
