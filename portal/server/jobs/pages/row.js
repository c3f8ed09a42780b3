// One row of the list, as text: a job, a run, or a run with the job that is its own.
import { againWords, jobWords, nameOf, progressWords, RUN_STATES, runWords, startWords } from './words.js';

// By the names of runs: what was shown last, and the steps in a second.
const paces = new Map();

export function text(tag, words, className = '') {
  const element = document.createElement(tag);
  element.textContent = words;
  element.className = className;
  return element;
}

/** The parts of a row that change as it goes on. */
export function infoOf(row, gpus, baseUrl) {
  const { job, run } = row;
  const title = text('h2', nameOf(row));
  const chip = run ? [RUN_STATES[run.state] ?? run.state, run.state] : [job.label, `${job.phase} ${job.state}`];
  title.append(text('span', chip[0], `chip ${chip[1]}`));
  const parts = [title];
  if (run?.label) {
    parts.push(text('p', run.function, 'small'));
  }
  if (job?.tasks) {
    parts.push(text('p', job.tasks));
  }
  if (job) {
    parts.push(text('p', jobWords(job, gpus), 'small'));
  }
  if (job?.place) {
    parts.push(text('p', job.place));
  }
  if (job?.again) {
    parts.push(text('p', againWords(job)));
  } else if (job?.starts_at) {
    parts.push(text('p', startWords(job.starts_at, new Date())));
  }
  if (run) {
    parts.push(text('p', runWords(row, gpus), 'small'), placesOf(run, baseUrl), ...progressOf(run));
  }
  const words = run ? run.words : job.reason;
  if (words) {
    parts.push(text('p', run?.state === 'done' ? `Result: ${words}` : words, run?.state === 'failed' ? 'bad' : ''));
  }
  return parts;
}

function progressOf(run) {
  const parts = run.continues ? [text('p', `Continues ${run.continues}.`, 'small')] : [];
  if (run.done) {
    parts.push(barOf({ step: 1, n_steps: 1 }), text('p', run.done, 'small'));
  } else if (run.progress) {
    const isRunning = run.state === 'running';
    const words = progressWords(run.progress, isRunning ? paceOf(run) : 0, run.executes);
    parts.push(...(isRunning ? [barOf(run.progress)] : []), text('p', words, isRunning ? '' : 'small'));
  }
  return parts;
}

/** Steps per second between what was shown last and now. */
function paceOf({ name, progress: { step }, progress_at_s: at_s }) {
  const last = paces.get(name);
  if (!last || at_s - last.at_s > 1) {
    paces.set(name, { step, at_s, pace: last ? (step - last.step) / (at_s - last.at_s) : 0 });
  }
  return paces.get(name).pace;
}

function placesOf(run, baseUrl) {
  const isPage = document.body.dataset.baseUrl !== undefined;
  const places = text('p', '', 'small');
  places.append(linkTo(`${isPage ? 'tree' : 'lab/tree'}/portal-runs/${run.name}`, 'Folder', baseUrl));
  if (run.notebook) {
    const name = run.notebook.split('/').pop();
    places.append(', ', linkTo(`${isPage ? 'notebooks' : 'lab/tree'}/${run.notebook}`, name, baseUrl));
  }
  return places;
}

export function linkTo(path, words, baseUrl) {
  const link = text('a', words);
  link.href = baseUrl + path.split('/').map(encodeURIComponent).join('/');
  link.target = '_blank';
  return link;
}

function barOf(progress) {
  const bar = document.createElement('progress');
  bar.setAttribute('aria-label', 'Progress of the run');
  if (progress.n_steps) {
    bar.max = progress.n_steps;
    bar.value = progress.step;
  }
  return bar;
}
