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
    const name = job.is_session ? 'session of the portal' : job.name;
    const row = tableRow([job.id, name, job.state, job.elapsed, job.limit, job.n_nodes, job.n_cores, job.gpus, job.reason]);
    row.dataset.job = job.id;
    row.cells[2].className = `state ${job.state}`;
    const actions = row.insertCell();
    const run = job.name.match(RUN);
    if (run) {
      row.cells[1].textContent = `run of ${run[1]}`;
      const link = document.createElement('a');
      link.textContent = 'Runs';
      link.href = this.api.replace(/portal\/api\/jobs$/, 'portal/runs');
      link.target = '_blank';
      link.setAttribute('aria-label', `Show the run of job ${job.id} among your runs`);
      actions.append(link, ' ');
    }
    if (!job.is_session) {
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
      'Slurm no longer knows where this job wrote. Look for its slurm-….out in the folder of the script.';
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
