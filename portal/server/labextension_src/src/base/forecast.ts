import { Form, Values } from './form';

const FORECAST_MS = 700;

/** Says below a form when the job would start, or why Slurm would refuse it. */
export class Forecast {
  private readonly line = document.createElement('p');
  private timer = 0;
  /** Of the newest question; answers to older ones are not shown. */
  private n = 0;

  constructor(
    private readonly form: Form,
    private readonly ask: (values: Values) => Promise<string>
  ) {
    this.line.setAttribute('role', 'status');
    this.line.style.maxWidth = '34em';
    form.node.append(this.line);
    form.node.addEventListener('input', () => this.wait(FORECAST_MS));
    this.wait(0);
  }

  stop(): void {
    this.n++;
    window.clearTimeout(this.timer);
  }

  private wait(ms: number): void {
    this.stop();
    this.line.textContent = 'Asking Slurm when it would start…';
    this.timer = window.setTimeout(() => void this.say(), ms);
  }

  private async say(): Promise<void> {
    const n = this.n;
    let text = '';
    if (!this.form.node.querySelector(':invalid')) {
      text = await this.ask(this.form.getValue()).catch((problem: Error) => problem.message);
    }
    if (n === this.n) {
      this.line.textContent = text;
    }
  }
}
