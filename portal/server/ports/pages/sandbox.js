// Cookies and storage of a page in the sandbox: its own, and only while it is shown.
(() => {
  const storage = () => {
    const items = new Map();
    return {
      get length() { return items.size; },
      key: (n) => [...items.keys()][n] ?? null,
      getItem: (name) => items.get(String(name)) ?? null,
      setItem: (name, value) => { items.set(String(name), String(value)); },
      removeItem: (name) => { items.delete(String(name)); },
      clear: () => { items.clear(); },
    };
  };
  for (const name of ["localStorage", "sessionStorage"]) {
    Object.defineProperty(window, name, { value: storage(), configurable: true });
  }
  const cookies = new Map();
  Object.defineProperty(document, "cookie", {
    configurable: true,
    get: () => [...cookies].map((pair) => pair.join("=")).join("; "),
    set: (text) => {
      const [name, value] = String(text).split(";")[0].split(/=(.*)/s);
      cookies.set(name.trim(), (value ?? "").trim());
    },
  });
})();
