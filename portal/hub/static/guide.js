// A search over all guides: lists the parts that have all words, those with a word in their title first.

const MOST = 20;
const field = document.getElementById("guide-search");
const found = document.getElementById("guide-found");
const groups = document.getElementById("guide-groups");
const guides = field.dataset.guides;
let parts;

async function load() {
  const answer = await fetch(`${guides}search.json`);
  const read = (await answer.json()).parts;
  return read.map((part) => ({
    ...part,
    titles: `${part.title} ${part.heading}`.toLowerCase(),
    words: `${part.title} ${part.heading} ${part.text}`.toLowerCase(),
  }));
}

function entry(part) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = guides + part.name + (part.anchor && `#${part.anchor}`);
  link.textContent = part.heading ? `${part.title}: ${part.heading}` : part.title;
  item.append(link);
  return item;
}

field.hidden = false;
field.addEventListener("input", async () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  parts ??= load();
  const all = await parts;
  const rank = (part) => words.filter((word) => part.titles.includes(word)).length;
  const hits = all
    .filter((part) => words.every((word) => part.words.includes(word)))
    .sort((one, other) => rank(other) - rank(one))
    .slice(0, MOST);
  groups.hidden = words.length > 0;
  found.hidden = !words.length;
  found.replaceChildren(...hits.map(entry));
  if (words.length && !hits.length) found.textContent = "No page has all these words.";
});
