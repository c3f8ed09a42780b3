// A notebook that changes while it is read. The server sends cells as sanitized HTML, each once.
const path = document.body.dataset.path;
const part = (name) => document.querySelector(`[data-part="${name}"]`);
const html = new Map();
let shown = [];
let failures = 0;

function say(text) {
  if (part('state').textContent !== text) {
    part('state').textContent = text;
  }
}

function makeCell(cell) {
  const node = document.createElement('section');
  node.className = 'reading-cell';
  node.dataset.digest = cell.digest;
  node.innerHTML = html.get(cell.digest) ?? '';
  for (const link of node.querySelectorAll('a[href]')) {
    link.target = '_blank';
    link.rel = 'noopener noreferrer';
  }
  return node;
}

// What did not change keeps its element, so that the page stays where it is.
function showCells(cells) {
  const old = [...part('cells').children];
  const nodes = cells.map((cell) => {
    const i = old.findIndex((node) => node.dataset.digest === cell.digest);
    return i < 0 ? makeCell(cell) : old.splice(i, 1)[0];
  });
  old.forEach((node) => node.remove());
  nodes.forEach((node, i) => {
    if (part('cells').children[i] !== node) {
      part('cells').insertBefore(node, part('cells').children[i] ?? null);
    }
  });
  shown = nodes;
}

function makeMark(name) {
  const mark = document.createElement('span');
  mark.className = 'reading-cursor';
  const label = document.createElement('span');
  label.textContent = name;
  mark.append(label);
  return mark;
}

// Code keeps its characters when it is coloured, so an offset can be counted in its texts.
function findText(code, offset) {
  const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  let left = offset;
  let last = null;
  while (walker.nextNode()) {
    last = walker.currentNode;
    if (left <= last.data.length) {
      return [last, left];
    }
    left -= last.data.length;
  }
  return last ? [last, last.data.length] : null;
}

function showCursors(cursors) {
  document.querySelectorAll('.reading-cursor').forEach((mark) => {
    const parent = mark.parentNode;
    mark.remove();
    parent.normalize();
  });
  for (const { name, cell, offset } of cursors) {
    const node = shown[cell];
    const code = node?.querySelector('.input_area pre');
    const place = code ? findText(code, offset) : null;
    if (place) {
      const range = document.createRange();
      range.setStart(place[0], place[1]);
      range.insertNode(makeMark(name));
    } else {
      node?.prepend(makeMark(name));
    }
  }
}

function take(message) {
  Object.entries(message.html).forEach(([digest, text]) => html.set(digest, text));
  const wanted = new Set(message.cells.map((cell) => cell.digest));
  showCells(message.cells);
  [...html.keys()].filter((digest) => !wanted.has(digest)).forEach((digest) => html.delete(digest));
  showCursors(message.cursors);
  part('people').textContent = message.people.length ? `Here: ${message.people.join(', ')}` : '';
  if (!message.exists) {
    say('This notebook is not there now. It was renamed or deleted.');
  } else {
    say(message.open ? 'Live' : 'Nobody has it open. This is the saved file.');
  }
}

function connect() {
  const base = document.body.dataset.baseUrl;
  const name = path.split('/').map(encodeURIComponent).join('/');
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(`${scheme}//${location.host}${base}portal/reading-changes/${name}`);
  socket.onopen = () => {
    failures = 0;
  };
  socket.onmessage = (event) => take(JSON.parse(event.data));
  socket.onclose = (event) => {
    if (event.reason) {
      say(event.reason);
      part('people').textContent = '';
      part('cells').replaceChildren();
      html.clear();
      return;
    }
    // The new connection sends everything again.
    html.clear();
    failures += 1;
    say(
      failures > 2
        ? 'Not connected. If this stays so, the session has ended or is no longer shared with you.'
        : 'Not connected. Trying again …'
    );
    setTimeout(connect, Math.min(30000, 3000 * failures));
  };
}

connect();
