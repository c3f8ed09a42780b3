import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { Token } from '@lumino/coreutils';
import { Poll } from '@lumino/polling';
import { ISignal, Signal } from '@lumino/signaling';

import { askPortal, fetchPortal } from '../base/api';
import { FORBIDDEN } from '../base/login';

const PATH = 'portal/api/session';
const SHOWN_INTERVAL_MS = 5_000;
const HIDDEN_INTERVAL_MS = 30_000;
/** What the hub answers for a session that does not run. */
const NOT_RUNNING = 424;
const INPUTS = ['keydown', 'pointerdown', 'pointermove', 'wheel'];

export interface ITimeLeft {
  readonly left_s: number | null;
  readonly warnings_s: ReadonlyArray<number>;
  readonly n_signals: number;
  readonly step_s: number;
  readonly n_left: number;
}

export interface IGpu {
  readonly name: string;
  readonly use_percent: number | null;
  readonly memory_mib: number | null;
  readonly memory_total_mib: number | null;
  readonly temperature_c: number | null;
  readonly power_w: number | null;
  readonly power_limit_w: number | null;
}

export interface ISample {
  readonly at_s: number;
  readonly cpu_percent: number | null;
  readonly memory_mib: number | null;
  readonly gpus: ReadonlyArray<IGpu> | null;
  readonly disk_read_mib_s: number | null;
  readonly disk_write_mib_s: number | null;
  readonly network_in_mib_s: number | null;
  readonly network_out_mib_s: number | null;
}

export interface IProcess {
  readonly pid: number;
  readonly name: string;
  readonly cpu_percent: number;
  readonly memory_mib: number;
  readonly gpu_memory_mib: number;
}

export interface ICellRun {
  readonly number: number;
  readonly title: string;
  readonly began_s: number;
  readonly ended_s: number | null;
}

export interface IActivity {
  readonly processes: ReadonlyArray<IProcess>;
  readonly cells: ReadonlyArray<ICellRun>;
  /** What holds the GPUs up and what to do; null if nothing is to be seen. */
  readonly advice: string | null;
}

export interface IMeter extends ISample {
  readonly n_cores: number;
  readonly memory_limit_mib: number | null;
  readonly n_gpus: number;
  readonly are_gpus_simulated: boolean;
}

export interface IIdle {
  readonly state: 'used' | 'warned' | 'saving' | 'over';
  readonly idle_s: number;
  readonly ends_in_s: number | null;
}

export interface ISessionState {
  readonly clock: ITimeLeft;
  /** What the site announces now, a sentence or two each. */
  readonly notices: ReadonlyArray<string>;
  readonly meter: IMeter | null;
  readonly idle: IIdle;
}

export type Presence = 'there' | 'ended' | 'silent';

/** What this tab knows of the session; asked for every few seconds, also while it is hidden. */
export interface ISession {
  readonly state: ISessionState | null;
  readonly changed: ISignal<ISession, ISessionState>;
  /** Whether the hub has said that the session no longer runs. */
  readonly hasEnded: boolean;
  readonly ended: ISignal<ISession, void>;
  /** Seconds until the end, now; null where none is known. */
  leftS(): number | null;
  extend(): Promise<void>;
  keep(): Promise<void>;
  end(): Promise<void>;
  /** Whether the notebook server answers, has ended, or cannot be reached just now. */
  presence(): Promise<Presence>;
  /** The last 15 minutes, or averages since the start. */
  history(isSinceStart: boolean): Promise<ISample[]>;
  activity(): Promise<IActivity>;
  /** Ask for the state now. */
  look(): void;
}

export const ISession = new Token<ISession>('data-scientist-portal:ISession');

class Session implements ISession {
  state: ISessionState | null = null;
  readonly changed = new Signal<this, ISessionState>(this);
  hasEnded = false;
  readonly ended = new Signal<this, void>(this);
  private readAtMs = 0;
  private inputAtMs = performance.now();
  private readonly poll: Poll;

  constructor(private readonly settings: ServerConnection.ISettings) {
    for (const name of INPUTS) {
      const note = () => void (this.inputAtMs = performance.now());
      document.addEventListener(name, note, { capture: true, passive: true });
    }
    this.poll = new Poll({
      name: 'data-scientist-portal:session',
      factory: () => this.read(),
      frequency: { interval: SHOWN_INTERVAL_MS, backoff: true, max: HIDDEN_INTERVAL_MS },
      standby: 'never'
    });
    document.addEventListener('visibilitychange', () => this.pace());
  }

  leftS(): number | null {
    const left = this.state?.clock.left_s ?? null;
    return left === null ? null : Math.max(0, left - (performance.now() - this.readAtMs) / 1000);
  }

  async extend(): Promise<void> {
    const clock = await askPortal<ITimeLeft>(this.settings, 'session/extension', 'POST');
    this.take({ ...(this.state as ISessionState), clock });
  }

  async keep(): Promise<void> {
    await fetchPortal(this.settings, `${PATH}/keep`, 'POST');
    await this.poll.refresh();
  }

  async end(): Promise<void> {
    await fetchPortal(this.settings, PATH, 'DELETE');
  }

  async presence(): Promise<Presence> {
    const answer = await ServerConnection.makeRequest(
      URLExt.join(this.settings.baseUrl, PATH),
      {},
      this.settings
    ).catch(() => null);
    if (answer?.status === NOT_RUNNING) {
      this.noteEnd();
      return 'ended';
    }
    // It is there for a user who is signed out, too, and asked to sign in again by the next poll.
    const isThere = answer?.ok && !answer.redirected;
    return isThere || answer?.status === FORBIDDEN ? 'there' : 'silent';
  }

  async history(isSinceStart: boolean): Promise<ISample[]> {
    const path = `session/history${isSinceStart ? '?since=start' : ''}`;
    const answer = await askPortal<{ samples: ISample[] }>(this.settings, path);
    return answer.samples;
  }

  activity(): Promise<IActivity> {
    return askPortal<IActivity>(this.settings, 'session/activity');
  }

  look(): void {
    void this.poll.refresh();
  }

  private pace(): void {
    const interval = document.hidden ? HIDDEN_INTERVAL_MS : SHOWN_INTERVAL_MS;
    this.poll.frequency = { interval, backoff: true, max: HIDDEN_INTERVAL_MS };
    if (!document.hidden) {
      this.look();
    }
  }

  private async read(): Promise<void> {
    const ageS = ((performance.now() - this.inputAtMs) / 1000).toFixed(1);
    try {
      this.take(await askPortal<ISessionState>(this.settings, `session?input_age_s=${ageS}`));
    } catch (error) {
      if (
        error instanceof ServerConnection.ResponseError &&
        error.response.status === NOT_RUNNING
      ) {
        this.noteEnd();
      }
      throw error;
    }
  }

  private noteEnd(): void {
    if (!this.hasEnded) {
      this.hasEnded = true;
      this.ended.emit();
    }
  }

  private take(state: ISessionState): void {
    this.state = state;
    // A tab may outlive its session, and find the next one.
    this.hasEnded = false;
    this.readAtMs = performance.now();
    this.changed.emit(state);
  }
}

export const sessionPlugin: JupyterFrontEndPlugin<ISession> = {
  id: 'data-scientist-portal:session',
  description: 'Knows the time left, the use and the end of the session.',
  autoStart: true,
  provides: ISession,
  activate: (app: JupyterFrontEnd) => new Session(app.serviceManager.serverSettings)
};
