// The user's jobs and runs: a page of its own beside Notebook, and a panel of JupyterLab.
// Everything that Slurm, a script or a run says is shown as text, never as HTML.
import { button, Requests } from './requests.js';
import { infoOf, linkTo, text } from './row.js';
import { Submission } from './submission.js';
import { count, nameOf, sizeWords } from './words.js';

const INTERVAL_MS = 4000;
// Every so many lists, the sizes of the folders of runs are measured again.
const MEASURE_EVERY = 15;
const ACTIONS = { hold: 'Hold', release: 'Release', requeue: 'Requeue', shorten: 'Shorten' };
// Of the next run of a job that runs again and again.
const OF_NEXT = { ...ACTIONS, hold: 'Pause', release: 'Resume' };

/**
 * Fill the element that holds the page's parts; returns what shows a script, and what ends it.
 *
 * `open` has what JupyterLab opens beside the panel: `file` a path, `notebook` the form of a run.
 */
export function mount(root, baseUrl, script, open = {}) {
  const panel = new Panel(root, baseUrl, open);
  panel.start(script);
  return { preview: path => panel.submission.preview(path), end: () => panel.stop() };
}

class Panel extends Requests {
  constructor(root, baseUrl, open) {
    super(root, `${baseUrl}portal/api/`);
    this.open = open;
    this.baseUrl = baseUrl;
    this.items = new Map();
    this.nLists = 0;
    this.gpus = root.dataset.gpus ?? 'GPUs';
    this.followed = null;
    // Why jobs are missing in the last list.
    this.missing = '';
    // Ids of the arrays whose tasks are shown.
    this.opened = new Set();
    this.submission = new Submission(root, this.api, id => this.follow(id));
  }

  start(script) {
    if (script) {
      void this.submission.preview(script);
    }
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
    const found = await this.saying(() => this.ask('GET', `jobs${measure}`));
    if (!found) {
      return;
    }
    const missing = [found.problem, found.missing].filter(words => words).join(' ');
    if (missing || this.missing) {
      this.say(missing, true);
    }
    this.missing = missing;
    const list = this.part('rows');
    const rows = new Map(found.rows.map(row => [row.run?.name ?? row.job.id, row]));
    for (const [key, item] of this.items) {
      if (!rows.has(key)) {
        item.element.remove();
        this.items.delete(key);
      }
    }
    [...rows].forEach(([key, row], index) => {
      const item = this.items.get(key) ?? this.newItem(row);
      this.items.set(key, item);
      this.update(item, row);
      if (row.job?.id === this.followed && !row.job.tasks && row.job.phase !== 'waiting') {
        this.followed = null;
        this.toggleOutput(item, row);
        item.element.scrollIntoView({ block: 'nearest' });
      }
      if (list.children[index] !== item.element) {
        list.insertBefore(item.element, list.children[index] ?? null);
      }
    });
    this.part('none').hidden = rows.size > 0 || missing !== '';
    const runs = found.rows.flatMap(row => row.run ?? []);
    const n_bytes = runs.reduce((sum, run) => sum + (run.n_bytes ?? 0), 0);
    this.part('total').textContent =
      runs.length === 0 ? '' : `${count(runs.length, 'runs')}, ${sizeWords(n_bytes)} in ~/portal-runs`;
  }

  /** Show the output of a job as soon as it runs. */
  async follow(id) {
    this.followed = id;
    await this.refresh();
  }

  newItem({ job, run }) {
    const element = document.createElement('li');
    if (job) {
      element.dataset.job = job.id;
      element.className = job.array ? 'task' : '';
    }
    if (run) {
      element.dataset.run = run.name;
    }
    const item = { element, info: document.createElement('div'), actions: text('div', '', 'actions'), output: null, made: '' };
    element.append(item.info, item.actions);
    return item;
  }

  update(item, row) {
    const { job, run } = row;
    item.element.hidden = Boolean(job?.array) && !this.opened.has(job.array);
    item.info.replaceChildren(...infoOf(row, this.gpus, this.baseUrl));
    // The buttons are made again only if they change, so that the focus stays.
    const made = JSON.stringify([run?.state, run?.has_events, run?.mlflow, run?.label, job?.phase, job?.actions, this.opened.has(job?.id), item.output !== null]);
    if (made !== item.made) {
      const focused = item.actions.contains(document.activeElement) ? document.activeElement.textContent : null;
      item.made = made;
      item.actions.replaceChildren(...this.actionsOf(item, row));
      [...item.actions.children].find(b => b.textContent === focused)?.focus();
    }
    if (item.output !== null && (!(run ?? job).is_over || item.output.offset < 0)) {
      void this.readOutput(item, row);
    }
  }

  actionsOf(item, row) {
    const { job, run } = row;
    const name = run ? nameOf(row) : `job ${job.id}`;
    const actions = [];
    if (job?.tasks) {
      const words = this.opened.has(job.id) ? 'Hide tasks' : 'Tasks';
      actions.push(button(words, `${words} of ${name}`, () => this.toggleTasks(job.id)));
    } else if (run || (!job.is_session && !job.cluster && job.phase !== 'waiting')) {
      actions.push(button(item.output ? 'Hide output' : 'Output', `Output of ${name}`, () => this.toggleOutput(item, row)));
    }
    if (run?.has_events) {
      actions.push(button('TensorBoard', `Open TensorBoard of ${name}`, () => this.openTab('tensorboards', `portal-runs/${run.name}`)));
    }
    if (run?.mlflow) {
      const { folder, experiment_id, run_id } = run.mlflow;
      const place = `#/experiments/${experiment_id}/runs/${run_id}`;
      actions.push(button('MLflow', `Open the run of MLflow of ${name}`, () => this.openTab('mlflow', folder, place)));
    }
    const isNext = Boolean(job?.again) && job.phase === 'waiting';
    for (const action of job?.actions ?? []) {
      const word = (isNext ? OF_NEXT : ACTIONS)[action];
      actions.push(button(word, `${word} ${name}`, () => this.changeJob(job, action)));
    }
    if (run && !run.is_over && !run.cluster) {
      actions.push(button('Stop', `Stop ${name}`, () => this.end(row)));
    } else if (!run && !job.is_over && !job.is_session && !job.cluster) {
      const word = isNext ? 'End' : 'Cancel';
      actions.push(button(word, `${word} ${name}`, () => this.cancel(job)));
    }
    if (run?.is_over && run.executes && this.open.notebook) {
      actions.push(button('Run again…', `Run ${name} again`, () => this.open.notebook(run.name)));
    } else if (!run && job.has_script && !job.array) {
      actions.push(button('Submit again…', `Submit ${name} again`, () => this.submitAgain(job.id)));
    }
    if (run) {
      actions.push(button('Name', `Name ${name}`, () => this.rename(run)));
    }
    if (run?.is_over) {
      actions.push(button('Remove', `Remove ${name}`, () => this.remove(run)));
    }
    return actions;
  }

  async toggleTasks(id) {
    if (!this.opened.delete(id)) {
      this.opened.add(id);
    }
    await this.refresh();
  }

  toggleOutput(item, row) {
    if (item.output !== null) {
      item.output.element.remove();
      item.output = null;
    } else {
      const element = document.createElement('div');
      const path = text('p', '', 'small');
      if (row.run) {
        const log = `portal-runs/${row.run.name}/rank-0.log`;
        path.append(linkTo(`files/${log}`, log, this.baseUrl));
      }
      const place = document.createElement('pre');
      place.tabIndex = 0;
      const used = text('p', '', 'small');
      element.append(path, place, used);
      if ((row.run ?? row.job).is_over) {
        void this.readUsed(used, row);
      }
      item.element.append(element);
      item.output = { element, path, place, offset: -1 };
    }
    this.update(item, row);
  }

  async readUsed(place, { job, run }) {
    const source = run ? `runs/${run.name}` : `jobs/${encodeURIComponent(job.id)}`;
    const answer = await this.saying(() => this.ask('GET', `${source}/used`));
    place.textContent = answer?.used ?? '';
  }

  async readOutput(item, { job, run }) {
    const shown = item.output;
    const source = run ? `runs/${run.name}` : `jobs/${encodeURIComponent(job.id)}`;
    const piece = await this.saying(() => this.ask('GET', `${source}/output?offset=${shown.offset}`));
    if (!piece) {
      return;
    }
    const { place } = shown;
    const isAtEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 4;
    // Progress bars draw over their line.
    const lines = (place.textContent + piece.text).split('\n').map(line => line.replace(/.*\r(?=.)/, ''));
    place.textContent = lines.slice(-1000).join('\n');
    shown.offset = piece.text || shown.offset >= 0 ? piece.next_offset : -1;
    if (!run) {
      shown.path.textContent = piece.path ||
        'The file of this job is not there: it was moved or removed, or the script gave it a name that Slurm no longer knows. Look in the folder of the script.';
    }
    if (isAtEnd) {
      place.scrollTop = place.scrollHeight;
    }
  }

  async openTab(kind, logdir, place = '') {
    const tab = window.open('', '_blank');
    const page = await this.saying(() => this.ask('POST', kind, { logdir }));
    if (page && tab) {
      tab.location = page.url + place;
    } else {
      tab?.close();
    }
  }

  async submitAgain(id) {
    this.say('');
    const found = await this.saying(() => this.ask('GET', `jobs/${encodeURIComponent(id)}/script`));
    if (found) {
      this.open.file?.(found.path);
      await this.submission.preview(found.path);
    }
  }

  async changeJob({ id, limit }, action) {
    if (action === 'shorten') {
      const hours = prompt(`Time limit of job ${id} in hours${limit && `, less than ${limit}`}:`, '');
      if (hours) {
        await this.change(() => this.ask('POST', `jobs/${encodeURIComponent(id)}`, { action, hours }));
      }
      return;
    }
    const isSure = action !== 'requeue' || confirm(`Requeue job ${id}? It is ended, and starts again from the beginning.`);
    if (isSure) {
      await this.change(() => this.ask('POST', `jobs/${encodeURIComponent(id)}`, { action }));
    }
  }

  async cancel({ id, tasks, again }) {
    const what = tasks ? ' with all tasks that wait and run' : again ? `, so that it does not run ${again} any more` : '';
    if (confirm(`Cancel job ${id}${what}?`)) {
      await this.change(() => this.ask('DELETE', `jobs/${encodeURIComponent(id)}`), `Job ${id} was cancelled.`);
    }
  }

  async end({ job, run }) {
    const last = job?.again ? ` It does not run ${job.again} any more.` : '';
    if (confirm(`Stop ${nameOf({ run })}? ${run.executes ? 'It ends' : 'Its ranks end'} within some seconds.${last}`)) {
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
    if (confirm(`Remove ${nameOf({ run })} with its output, result and checkpoints${size}?`)) {
      await this.change(() => this.ask('DELETE', `runs/${run.name}`));
    }
  }

  async change(work, done = '') {
    this.say('');
    await this.saying(async () => {
      await work();
      this.say(done);
    });
    await this.refresh();
  }
}
