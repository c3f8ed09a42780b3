// Jobs and runs in words. Pure.

const MOMENT = { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hour12: false };
export const RUN_STATES = {
  waiting: 'waits in the queue',
  running: 'running',
  done: 'done',
  failed: 'failed',
  stopped: 'stopped',
  saved: 'saved a checkpoint',
  lost: 'lost',
  unknown: 'state unknown'
};

export function count(n, nouns) {
  return `${n} ${Number(n) === 1 ? nouns.replace(/s$/, '') : nouns}`;
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

function durationWords(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds < 100) {
    return `${Math.round(seconds)} s`;
  }
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function nameOf({ job, run }) {
  if (run) {
    return run.label || run.function;
  }
  return job.is_session ? 'session of the portal' : job.name;
}

/** "Job 12: 2 GPUs (v100), 16 cores in gpu. 5 min of 8 h.", or of another cluster "Job 12 on Volta: …" */
export function jobWords(job, gpus) {
  const { id, cluster, tasks, n_nodes, n_cores, n_gpus, gpu_type, partition, nodes, elapsed, limit } = job;
  const number = cluster ? `${id.slice(cluster.length + 1)} on ${cluster}` : id;
  const resources = [
    n_gpus ? count(n_gpus, gpus) + (gpu_type ? ` (${gpu_type})` : '') : '',
    n_cores ? count(n_cores, 'cores') : '',
    Number(n_nodes) > 1 || nodes ? count(n_nodes, 'nodes') + (nodes ? ` (${nodes})` : '') : ''
  ];
  const time = elapsed && limit ? `${elapsed} of ${limit}` : elapsed || (limit && `up to ${limit}`);
  const place = resources.filter(part => part).join(', ') + (partition ? ` in ${partition}` : '');
  return `Job ${number}${tasks ? ', each task' : ''}: ${place}.${time ? ` ${time}.` : ''}`;
}

/** "2 GPUs, 1 node. Started Mon 2 Nov, 10:00, for 5 min, 3 MB." */
export function runWords({ job, run }, gpus) {
  const started = new Date(run.started_s * 1000).toLocaleString('en-GB', MOMENT);
  const size = run.n_bytes === null ? '' : `, ${sizeWords(run.n_bytes)}`;
  const ranks = job ? '' : `${count(run.n_gpus, gpus)}, ${count(run.n_nodes, 'nodes')}${run.job_id ? `, job ${run.job_id}` : ''}${run.cluster ? ` on ${run.cluster}` : ''}. `;
  return `${ranks}${run.state === 'waiting' ? 'Queued' : 'Started'} ${started}${durationOf(run)}${size}.`;
}

function durationOf(run) {
  // A job of its own may have waited in the queue first.
  const isGoing = run.state === 'running' && !run.job_id;
  const seconds = isGoing ? Date.now() / 1000 - run.started_s : run.seconds;
  return seconds > 0 ? `, ${isGoing ? 'for' : 'took'} ${durationWords(seconds)}` : '';
}

/** "Step 3 of 10 (30%), loss 0.5", or of a notebook "3 of 10 cells have run (30%)". */
export function progressWords({ step, n_steps, images_per_s, loss }, stepsPerS, isNotebook) {
  const share = n_steps ? ` (${Math.round((100 * step) / n_steps)}%)` : '';
  if (isNotebook) {
    return `${step} of ${n_steps} cells have run${share}`;
  }
  const words = [n_steps ? `Step ${step} of ${n_steps}${share}` : `Step ${step}`];
  if (images_per_s) {
    words.push(`${Number(images_per_s.toPrecision(3))} images/s`);
  } else if (stepsPerS > 0) {
    words.push(`${stepsPerS.toPrecision(2)} steps/s`);
  }
  if (loss !== null) {
    words.push(`loss ${Number(loss.toPrecision(4))}`);
  }
  return words.join(', ');
}

/** "Runs every day at 04:00. Next: Sun 29 Nov, 04:00." */
export function againWords({ again, starts_at }) {
  const next = starts_at ? ` Next: ${new Date(starts_at).toLocaleString('en-GB', MOMENT)}.` : '';
  return `Runs ${again}.${next}`;
}

export function startWords(text, now) {
  const start = new Date(text);
  if (start <= now) {
    return 'Slurm expects it to start any moment.';
  }
  const isToday = start.toDateString() === now.toDateString();
  const form = { hour: '2-digit', minute: '2-digit', hour12: false };
  const day = isToday ? {} : { weekday: 'short', day: 'numeric', month: 'short' };
  return `Slurm expects it to start at ${start.toLocaleString('en-GB', { ...day, ...form })}, or earlier.`;
}
