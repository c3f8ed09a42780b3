// The user's Slurm jobs: a page of its own beside Notebook, and a tab of JupyterLab.
// Everything that Slurm or a script says is shown as text, never as HTML.
const INTERVAL_MS = 4000;

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

function button(text, label, press) {
  const element = document.createElement('button');
  element.type = 'button';
  element.textContent = text;
  element.setAttribute('aria-label', label);
  element.addEventListener('click', press);
  return element;
}

function tableRow(texts) {
  const row = document.createElement('tr');
  texts.forEach(text => cell(row, text));
  return row;
}

class Panel {
  constructor(root, api, script) {
    this.root = root;
    this.api = api;
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

  part(name) {
    return this.root.querySelector(`[data-part="${name}"]`);
  }

  async ask(method, path = '', body = undefined) {
    const xsrf = document.cookie.match(/(?:^|; )_xsrf=([^;]*)/);
    const headers = { 'Content-Type': 'application/json', 'X-XSRFToken': xsrf ? xsrf[1] : '' };
    const request = { method, headers, credentials: 'same-origin', body: body && JSON.stringify(body) };
    const response = await fetch(this.api + path, request).catch(() => {
      throw new Error('The notebook server does not answer. If the session ended, start another one.');
    });
    const answer = response.status === 204 ? null : await response.json().catch(() => ({}));
    if (!response.ok) {
      throw new Error(answer?.message || `The notebook server answered ${response.status}. Reload the page.`);
    }
    return answer;
  }

  say(text, isBad = false) {
    const message = this.part('message');
    if (message.textContent !== text) {
      message.textContent = text;
    }
    message.className = isBad ? 'bad' : '';
  }

  async saying(work) {
    try {
      return await work();
    } catch (error) {
      this.say(error.message, true);
      return undefined;
    }
  }

  rowOf(job) {
    const name = job.is_session ? 'session of the portal' : job.name;
    const row = tableRow([job.id, name, job.state, job.elapsed, job.limit, job.n_nodes, job.n_cores, job.gpus, job.reason]);
    row.dataset.job = job.id;
    row.cells[2].className = `state ${job.state}`;
    const actions = row.insertCell();
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
