// A search over the guide that is open: leaves the headings of the contents whose part has all words.

const field = document.getElementById("guide-search");
const items = [...document.querySelectorAll(".portal-guide-contents ul ul li")].map((item) => {
  const heading = document.getElementById(decodeURIComponent(item.firstElementChild.hash.slice(1)));
  let text = heading?.textContent ?? "";
  for (let part = heading?.nextElementSibling; part && !/^H[1-4]$/.test(part.tagName); part = part.nextElementSibling) {
    text += ` ${part.textContent}`;
  }
  return { item, text: text.toLowerCase() };
});

field.hidden = false;
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/);
  for (const { item, text } of items) {
    item.hidden = !words.every((word) => text.includes(word));
  }
});
