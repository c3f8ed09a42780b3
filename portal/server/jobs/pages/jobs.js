// The user's Slurm jobs: a page of its own beside Notebook, and a tab of JupyterLab.
// Everything that Slurm or a script says is shown as text, never as HTML.
import { button, Requests } from './requests.js';

const INTERVAL_MS = 4000;
// The names of folders of runs, which their jobs have too.
const RUN = /^\d{8}-\d{6}-([a-z0-9_-]+)-[a-z0-9]{4}$/;

/** Fill the element that holds the page's parts; returns a function that ends it. */
export function mount(root, baseUrl, script) {
  const panel = new Panel(root, `${baseUrl}portal/api/jobs`, script);
  panel.start();
  return () => panel.stop();
}

function cell(row, text, className = '') {
  const element = row.insertCell();
  element.textContent = text;
  element.className = className;
  return element;
}

function timeOf({ elapsed, limit }) {
  return elapsed && limit ? `${elapsed} of ${limit}` : elapsed || (limit && `up to ${limit}`);
}

function count(n, nouns) {
  return `${n} ${Number(n) === 1 ? nouns.replace(/s$/, '') : nouns}`;
}

function resourcesOf({ n_nodes, n_cores, n_gpus, gpu_type, partition }, gpus) {
  const parts = [n_gpus ? count(n_gpus, gpus) + (gpu_type ? ` (${gpu_type})` : '') : '', count(n_cores, 'cores')];
  const all = [...parts, Number(n_nodes) > 1 ? count(n_nodes, 'nodes') : '', partition && `in ${partition}`];
  return all.filter(part => part).join(', ').replace(/, in /, ' in ');
}

function startOf(text, now) {
  const start = new Date(text);
  if (start <= now) {
    return 'Slurm expects it to start any moment.';
  }
  const isToday = start.toDateString() === now.toDateString();
  const form = { hour: '2-digit', minute: '2-digit', hour12: false };
  const day = isToday ? {} : { weekday: 'short', day: 'numeric', month: 'short' };
  return `Slurm expects it to start at ${start.toLocaleString('en-GB', { ...day, ...form })}, or earlier.`;
}

function tableRow(texts) {
  const row = document.createElement('tr');
  texts.forEach(text => cell(row, text));
  return row;
}

class Panel extends Requests {
  constructor(root, api, script) {
    super(root, api);
    this.script = script;
    this.followed = null;
    this.offset = -1;
  }

  start() {
    this.part('dismiss').addEventListener('click', () => this.dismiss());
    this.part('submit').addEventListener('click', () => this.submit());
    if (this.script) {
      void this.preview(this.script);
    }
    void this.refresh();
    this.timer = setInterval(() => {
      if (document.visibilityState === 'visible' && this.root.offsetParent !== null) {
        void this.refresh();
        void this.readOutput();
      }
    }, INTERVAL_MS);
  }

  stop() {
    clearInterval(this.timer);
  }

  rowOf(job) {
    const row = document.createElement('tr');
    row.dataset.job = job.id;
    const run = job.name.match(RUN);
    const title = cell(row, '', 'title');
    const name = document.createElement('strong');
    name.textContent = job.is_session ? 'session of the portal' : run ? `run of ${run[1]}` : job.name;
    const id = document.createElement('small');
    id.textContent = `job ${job.id}`;
    title.append(name, id);
    const chip = document.createElement('span');
    chip.className = `chip ${job.phase} ${job.state}`;
    chip.textContent = job.label;
    cell(row, '').append(chip);
    cell(row, timeOf(job)).dataset.label = 'Time';
    cell(row, resourcesOf(job, this.root.dataset.gpus)).dataset.label = 'Resources';
    const why = cell(row, job.reason);
    why.dataset.label = 'Why';
    if (job.starts_at) {
      const start = document.createElement('strong');
      start.textContent = startOf(job.starts_at, new Date());
      why.prepend(start, ' ');
    }
    const actions = cell(row, '', 'actions');
    if (run) {
      const link = document.createElement('a');
      link.textContent = 'Runs';
      link.href = this.api.replace(/portal\/api\/jobs$/, 'portal/runs');
      link.target = '_blank';
      link.setAttribute('aria-label', `Show the run of job ${job.id} among your runs`);
      actions.append(link, ' ');
    }
    if (!job.is_session && job.phase !== 'waiting') {
      actions.append(button('Output', `Show the output of job ${job.id}`, () => this.follow(job.id)), ' ');
    }
    if (!job.is_over && !job.is_session) {
      actions.append(button('Cancel', `Cancel job ${job.id}`, () => this.cancel(job.id)));
    }
    return row;
  }

  async refresh() {
    const jobs = await this.saying(() => this.ask('GET'));
    if (!jobs) {
      return;
    }
    const body = this.part('jobs').tBodies[0];
    const focused = body.contains(document.activeElement) ? document.activeElement.getAttribute('aria-label') : null;
    body.replaceChildren(...jobs.map(job => this.rowOf(job)));
    if (focused) {
      [...body.querySelectorAll('button')].find(b => b.getAttribute('aria-label') === focused)?.focus();
    }
    this.part('none').hidden = jobs.length > 0;
  }

  async cancel(id) {
    if (!confirm(`Cancel job ${id}?`)) {
      return;
    }
    await this.saying(async () => {
      await this.ask('DELETE', `/${encodeURIComponent(id)}`);
      this.say(`Job ${id} was cancelled.`);
    });
    await this.refresh();
  }

  async follow(id) {
    this.followed = id;
    this.offset = -1;
    this.part('output').hidden = false;
    this.part('output-title').textContent = `Output of job ${id}`;
    this.part('output-path').textContent = '';
    this.root.querySelector('pre').textContent = '';
    await this.readOutput();
    this.part('output').scrollIntoView({ block: 'nearest' });
  }

  async readOutput() {
    const id = this.followed;
    if (id === null) {
      return;
    }
    const path = `/${encodeURIComponent(id)}/output?offset=${this.offset}`;
    const piece = await this.saying(() => this.ask('GET', path));
    if (!piece || id !== this.followed) {
      return;
    }
    const place = this.root.querySelector('pre');
    const isAtEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 4;
    place.append(piece.text);
    this.offset = piece.text || this.offset >= 0 ? piece.next_offset : -1;
    this.part('output-path').textContent = piece.path ||
      'The file of this job is not there: it was moved or removed, or the script gave it a name that Slurm no longer knows. Look in the folder of the script.';
    if (isAtEnd) {
      place.scrollTop = place.scrollHeight;
    }
  }

  async preview(path) {
    const shown = await this.saying(() => this.ask('POST', '/preview', { path }));
    if (!shown) {
      return;
    }
    this.script = path;
    const preview = this.part('preview');
    this.part('preview-title').textContent = `Submit ${path}?`;
    const table = preview.querySelector('table');
    table.tBodies[0].replaceChildren(...shown.options.map(([name, value]) => tableRow([name, value || 'yes'])));
    table.hidden = shown.options.length === 0;
    this.part('forecast').textContent = shown.is_accepted
      ? `Slurm says: ${shown.forecast}`
      : shown.forecast;
    this.part('forecast').className = shown.is_accepted ? '' : 'bad';
    this.part('submit').disabled = !shown.is_accepted;
    preview.hidden = false;
    this.part(shown.is_accepted ? 'submit' : 'dismiss').focus();
  }

  dismiss() {
    this.part('preview').hidden = true;
  }

  async submit() {
    this.part('submit').disabled = true;
    await this.saying(async () => {
      const { id } = await this.ask('POST', '', { path: this.script });
      this.say(`${this.script} was submitted as job ${id}.`);
      this.dismiss();
      await this.refresh();
      await this.follow(id);
    });
    this.part('submit').disabled = false;
  }
}
