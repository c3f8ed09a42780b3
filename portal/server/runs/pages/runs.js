// The user's runs: a page of its own beside Notebook, and a panel of JupyterLab.
// Everything that a run says is shown as text, never as HTML.
import { button, Requests } from './requests.js';

const INTERVAL_MS = 4000;
// Every so many lists, the sizes of the folders are measured again.
const MEASURE_EVERY = 15;
const MOMENT = { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hour12: false };
const STATES = {
  waiting: 'waits in the queue',
  running: 'running',
  done: 'done',
  failed: 'failed',
  stopped: 'stopped',
  saved: 'saved a checkpoint',
  lost: 'lost',
  unknown: 'state unknown'
};

/** Fill the element that holds the page's parts; returns a function that ends it. */
export function mount(root, baseUrl) {
  const panel = new RunsPanel(root, baseUrl);
  panel.start();
  return () => panel.stop();
}

function text(tag, words, className = '') {
  const element = document.createElement(tag);
  element.textContent = words;
  element.className = className;
  return element;
}

export function sizeWords(n_bytes) {
  const units = ['KB', 'MB', 'GB', 'TB'];
  let size = n_bytes / 1000;
  while (size >= 1000 && units.length > 1) {
    size /= 1000;
    units.shift();
  }
  return `${size < 10 ? size.toFixed(1) : Math.round(size)} ${units[0]}`;
}

export function durationWords(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds < 100) {
    return `${Math.round(seconds)} s`;
  }
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function count(n, one) {
  return `${n} ${one}${n === 1 ? '' : 's'}`;
}

class RunsPanel extends Requests {
  constructor(root, baseUrl) {
    super(root, `${baseUrl}portal/api/`);
    this.baseUrl = baseUrl;
    this.items = new Map();
    this.progress = new Map();
    this.nLists = 0;
    this.gpus = root.dataset.gpus ?? 'GPUs';
  }

  start() {
    void this.refresh();
    this.timer = setInterval(() => {
      if (document.visibilityState === 'visible' && this.root.offsetParent !== null) {
        void this.refresh();
      }
    }, INTERVAL_MS);
  }

  stop() {
    clearInterval(this.timer);
  }

  async refresh() {
    const measure = this.nLists++ % MEASURE_EVERY === 0 ? '?measure=1' : '';
    const runs = await this.saying(() => this.ask('GET', `runs${measure}`));
    if (!runs) {
      return;
    }
    const list = this.part('runs');
    const names = runs.map(run => run.name);
    for (const [name, item] of this.items) {
      if (!names.includes(name)) {
        item.element.remove();
        this.items.delete(name);
      }
    }
    runs.forEach((run, index) => {
      const item = this.items.get(run.name) ?? this.newItem(run);
      this.items.set(run.name, item);
      this.update(item, run);
      if (list.children[index] !== item.element) {
        list.insertBefore(item.element, list.children[index] ?? null);
      }
    });
    this.part('none').hidden = runs.length > 0;
    const n_bytes = runs.reduce((sum, run) => sum + (run.n_bytes ?? 0), 0);
    this.part('total').textContent =
      runs.length === 0 ? '' : `${count(runs.length, 'run')}, ${sizeWords(n_bytes)} in ~/portal-runs`;
  }

  newItem(run) {
    const element = document.createElement('li');
    element.dataset.run = run.name;
    const item = { element, info: document.createElement('div'), actions: text('div', '', 'actions'), output: null, key: '' };
    element.append(item.info, item.actions);
    return item;
  }

  update(item, run) {
    item.info.replaceChildren(...this.infoOf(run));
    // The buttons are made again only if they change, so that the focus stays.
    const key = JSON.stringify([run.state, run.has_events, run.mlflow, run.label, item.output !== null]);
    if (key !== item.key) {
      const focused = item.actions.contains(document.activeElement) ? document.activeElement.textContent : null;
      item.key = key;
      item.actions.replaceChildren(...this.actionsOf(item, run));
      [...item.actions.children].find(b => b.textContent === focused)?.focus();
    }
    if (item.output !== null && (!run.is_over || item.output.offset < 0)) {
      void this.readOutput(item, run.name);
    }
  }

  infoOf(run) {
    const title = text('h2', run.label || run.function);
    title.append(text('span', STATES[run.state] ?? run.state, `chip ${run.state}`));
    const started = new Date(run.started_s * 1000).toLocaleString('en-GB', MOMENT);
    const place = `${run.n_gpus} ${run.n_gpus === 1 ? this.gpus.replace(/s$/, '') : this.gpus}, ${count(run.n_nodes, 'node')}${run.nodes ? ` (${run.nodes})` : ''}`;
    const job = run.job_id ? `, job ${run.job_id}` : '';
    const size = run.n_bytes === null ? '' : `, ${sizeWords(run.n_bytes)}`;
    const parts = [title];
    if (run.label) {
      parts.push(text('p', run.function, 'small'));
    }
    parts.push(text('p', `${place}${job}. ${run.state === 'waiting' ? 'Queued' : 'Started'} ${started}${this.durationOf(run)}${size}.`, 'small'));
    parts.push(this.placesOf(run));
    if (run.continues) {
      parts.push(text('p', `Continues ${run.continues}.`, 'small'));
    }
    if (run.done) {
      parts.push(this.barOf({ step: 1, n_steps: 1 }), text('p', run.done, 'small'));
    } else if (run.progress && run.state === 'running') {
      parts.push(this.barOf(run.progress), text('p', this.progressWords(run)));
    } else if (run.progress) {
      parts.push(text('p', this.progressWords(run), 'small'));
    }
    if (run.words) {
      parts.push(text('p', run.state === 'done' ? `Result: ${run.words}` : run.words, run.state === 'failed' ? 'bad' : ''));
    }
    return parts;
  }

  durationOf(run) {
    // A job of its own may have waited in the queue first.
    const isGoing = run.state === 'running' && !run.job_id;
    const seconds = isGoing ? Date.now() / 1000 - run.started_s : run.seconds;
    return seconds > 0 ? `, ${isGoing ? 'for' : 'took'} ${durationWords(seconds)}` : '';
  }

  placesOf(run) {
    const isPage = document.body.dataset.baseUrl !== undefined;
    const places = text('p', '', 'small');
    places.append(this.linkTo(`${isPage ? 'tree' : 'lab/tree'}/portal-runs/${run.name}`, 'Folder'));
    if (run.notebook) {
      const name = run.notebook.split('/').pop();
      places.append(', ', this.linkTo(`${isPage ? 'notebooks' : 'lab/tree'}/${run.notebook}`, name));
    }
    return places;
  }

  linkTo(path, words) {
    const link = text('a', words);
    link.href = this.baseUrl + path.split('/').map(encodeURIComponent).join('/');
    link.target = '_blank';
    return link;
  }

  barOf(progress) {
    const bar = document.createElement('progress');
    bar.setAttribute('aria-label', 'Progress of the run');
    if (progress.n_steps) {
      bar.max = progress.n_steps;
      bar.value = progress.step;
    }
    return bar;
  }

  progressWords(run) {
    const { step, n_steps, images_per_s, loss, at_s } = run.progress;
    const words = [n_steps ? `Step ${step} of ${n_steps} (${Math.round((100 * step) / n_steps)}%)` : `Step ${step}`];
    const last = this.progress.get(run.name);
    if (!last || at_s - last.at_s > 1) {
      this.progress.set(run.name, { step, at_s, pace: last ? (step - last.step) / (at_s - last.at_s) : 0 });
    }
    const pace = this.progress.get(run.name).pace;
    if (images_per_s) {
      words.push(`${Number(images_per_s.toPrecision(3))} images/s`);
    } else if (pace > 0 && run.state === 'running') {
      words.push(`${pace.toPrecision(2)} steps/s`);
    }
    if (loss !== null) {
      words.push(`loss ${Number(loss.toPrecision(4))}`);
    }
    return words.join(', ');
  }

  actionsOf(item, run) {
    const name = run.label || run.function;
    const actions = [button(item.output ? 'Hide output' : 'Output', `Output of ${name}`, () => this.toggleOutput(item, run))];
    if (run.has_events) {
      actions.push(button('TensorBoard', `Open TensorBoard of ${name}`, () => this.openTensorBoard(run)));
    }
    if (run.mlflow) {
      actions.push(button('MLflow', `Open the run of MLflow of ${name}`, () => this.openMlflow(run)));
    }
    if (!run.is_over) {
      actions.push(button('Stop', `Stop ${name}`, () => this.end(run)));
    }
    actions.push(button('Name', `Name ${name}`, () => this.rename(run)));
    if (run.is_over) {
      actions.push(button('Remove', `Remove ${name}`, () => this.remove(run)));
    }
    return actions;
  }

  toggleOutput(item, run) {
    if (item.output !== null) {
      item.output.element.remove();
      item.output = null;
    } else {
      const element = document.createElement('div');
      const path = `portal-runs/${run.name}/rank-0.log`;
      const log = this.linkTo(`files/${path}`, path);
      const place = document.createElement('pre');
      place.tabIndex = 0;
      element.append(log, place);
      item.element.append(element);
      item.output = { element, place, offset: -1 };
    }
    this.update(item, run);
  }

  async readOutput(item, name) {
    const shown = item.output;
    const piece = await this.saying(() => this.ask('GET', `runs/${name}/output?offset=${shown.offset}`));
    if (!piece) {
      return;
    }
    const { place } = shown;
    const isAtEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 4;
    // Progress bars draw over their line.
    const lines = (place.textContent + piece.text).split('\n').map(line => line.replace(/.*\r(?=.)/, ''));
    place.textContent = lines.slice(-1000).join('\n');
    shown.offset = piece.next_offset;
    if (isAtEnd) {
      place.scrollTop = place.scrollHeight;
    }
  }

  async openTensorBoard(run) {
    const tab = window.open('', '_blank');
    const board = await this.saying(() => this.ask('POST', 'tensorboards', { logdir: `portal-runs/${run.name}` }));
    if (board && tab) {
      tab.location = board.url;
    } else {
      tab?.close();
    }
  }

  async openMlflow(run) {
    const tab = window.open('', '_blank');
    const { folder, experiment_id, run_id } = run.mlflow;
    const page = await this.saying(() => this.ask('POST', 'mlflow', { logdir: folder }));
    if (page && tab) {
      tab.location = `${page.url}#/experiments/${experiment_id}/runs/${run_id}`;
    } else {
      tab?.close();
    }
  }

  async end(run) {
    if (confirm(`Stop ${run.label || run.function}? Its ranks end within some seconds.`)) {
      await this.change(() => this.ask('POST', `runs/${run.name}/stop`));
    }
  }

  async rename(run) {
    const label = prompt(`What do you call this run of ${run.function}?`, run.label);
    if (label !== null) {
      await this.change(() => this.ask('POST', `runs/${run.name}`, { label }));
    }
  }

  async remove(run) {
    const size = run.n_bytes === null ? '' : `, ${sizeWords(run.n_bytes)}`;
    if (confirm(`Remove ${run.label || run.function} with its output, result and checkpoints${size}?`)) {
      await this.change(() => this.ask('DELETE', `runs/${run.name}`));
    }
  }

  async change(work) {
    this.say('');
    await this.saying(work);
    await this.refresh();
  }
}
