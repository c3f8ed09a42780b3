// A script of the user's, shown with what Slurm says about it before it is submitted.
import { Requests } from './requests.js';

function row(texts) {
  const element = document.createElement('tr');
  texts.forEach(text => (element.insertCell().textContent = text));
  return element;
}

export class Submission extends Requests {
  /** `follow` is called with the id of what was submitted. */
  constructor(root, api, follow) {
    super(root, api);
    this.follow = follow;
    this.part('dismiss').addEventListener('click', () => this.dismiss());
    this.part('submit').addEventListener('click', () => this.submit());
  }

  async preview(path) {
    const shown = await this.saying(() => this.ask('POST', 'jobs/preview', { path }));
    if (!shown) {
      return;
    }
    this.script = path;
    const preview = this.part('preview');
    this.part('preview-title').textContent = `Submit ${path}?`;
    const table = preview.querySelector('table');
    table.tBodies[0].replaceChildren(...shown.options.map(([name, value]) => row([name, value || 'yes'])));
    table.hidden = shown.options.length === 0;
    this.part('forecast').textContent = shown.is_accepted ? `Slurm says: ${shown.forecast}` : shown.forecast;
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
      const { id } = await this.ask('POST', 'jobs', { path: this.script });
      this.say(`${this.script} was submitted as job ${id}.`);
      this.dismiss();
      await this.follow(id);
    });
    this.part('submit').disabled = false;
  }
}
