// The session around VS Code: time left, the warnings that JupyterLab's tabs show, signs of use, and
// which Python is its own.
const http = require('http');
const vscode = require('vscode');

const POLL_MS = 5_000;
const PORT_OF_NOBODY = 1;
const PYTHON_EXTENSION = 'ms-python.python';
const PYTHON_OF_SESSION = '${env:PORTAL_PYTHON}';

/** Ask the notebook server on the socket that only the user can open. */
function ask(method, path) {
  const options = { socketPath: process.env.PORTAL_SERVER_SOCKET, method, path, timeout: POLL_MS };
  return new Promise((resolve, reject) => {
    const request = http.request(options, response => {
      const chunks = [];
      response.on('data', chunk => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const answer = text ? JSON.parse(text) : {};
        const isFine = response.statusCode < 400;
        return isFine ? resolve(answer) : reject(new Error(answer.message || text));
      });
    });
    request.on('timeout', () => request.destroy(new Error('The session does not answer.')));
    request.on('error', reject);
    request.end();
  });
}

function inWords(seconds) {
  const minutes = Math.ceil(seconds / 60);
  const hours = Math.floor(minutes / 60);
  return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

class Session {
  constructor(context) {
    this.item = vscode.window.createStatusBarItem('session', vscode.StatusBarAlignment.Right, 1000);
    this.item.name = 'Session';
    this.item.command = 'dataScientistPortal.openSession';
    this.warnedS = Infinity;
    this.wasIdle = false;
    this.isAsking = false;
    this.page = '/';
    const commands = { openSession: () => this.open(), extendSession: () => this.extend() };
    for (const [name, run] of Object.entries(commands)) {
      const id = `dataScientistPortal.${name}`;
      context.subscriptions.push(vscode.commands.registerCommand(id, run));
    }
    const timer = setInterval(() => this.poll(), POLL_MS);
    context.subscriptions.push(this.item, { dispose: () => clearInterval(timer) });
    this.poll();
  }

  async poll() {
    if (this.isAsking) {
      return;
    }
    this.isAsking = true;
    try {
      // Answered by the window: this program outlives a closed tab, which no longer tells it that
      // nobody is there.
      await vscode.commands.executeCommand('setContext', 'dataScientistPortal.isOpen', true);
      // VS Code calls a window active while somebody types, clicks or points in it.
      const { active } = vscode.window.state;
      this.show(await ask('GET', `/session${active ? '?input_age_s=0' : ''}`));
    } catch (error) {
      this.item.text = '$(clock) time left unknown';
      this.item.tooltip = String(error.message);
      this.item.show();
    } finally {
      this.isAsking = false;
    }
  }

  show({ clock, idle, page }) {
    this.page = page;
    if (idle.ends_in_s !== null && !this.wasIdle) {
      this.warnIdle(idle.ends_in_s);
    }
    this.wasIdle = idle.ends_in_s !== null;
    const { left_s: leftS, warnings_s: warningsS, step_s: stepS } = clock;
    if (leftS === null) {
      this.item.hide();
      return;
    }
    const isNear = leftS <= Math.max(0, ...warningsS);
    const color = 'statusBarItem.warningBackground';
    this.item.text = `$(clock) ${inWords(leftS)} left`;
    this.item.tooltip = `${this.end(leftS)} Click to open it.`;
    this.item.backgroundColor = isNear ? new vscode.ThemeColor(color) : undefined;
    this.item.show();
    const dueS = Math.min(Infinity, ...warningsS.filter(warningS => leftS <= warningS));
    if (dueS < this.warnedS && leftS > 0) {
      this.warn(leftS, stepS, dueS === Math.min(...warningsS));
    }
    this.warnedS = dueS;
  }

  end(leftS) {
    return `This session ends in ${inWords(leftS)}, and VS Code and its terminals with it.`;
  }

  async warn(leftS, stepS, isLast) {
    const isSaved = isLast && (await vscode.workspace.saveAll(false));
    const extend = stepS > 0 ? [`Extend by ${inWords(stepS)}`] : [];
    const text = `${this.end(leftS)}${isSaved ? ' Your files are saved.' : ''}`;
    const answer = await vscode.window.showWarningMessage(text, ...extend, 'Open the session');
    if (answer === 'Open the session') {
      await this.open();
    } else if (answer) {
      await this.extend();
    }
  }

  async warnIdle(leftS) {
    const text = `Nothing happens in this session: it is stopped in ${inWords(leftS)}.`;
    if (await vscode.window.showWarningMessage(text, 'Keep it')) {
      await ask('POST', '/session/keep');
    }
  }

  async extend() {
    try {
      await ask('POST', '/session/extension');
    } catch (error) {
      vscode.window.showErrorMessage(error.message);
    }
    await this.poll();
  }

  async open() {
    // Only the browser knows the portal's address: it makes one of the portal's out of this one.
    const local = vscode.Uri.parse(`http://localhost:${PORT_OF_NOBODY}/`);
    const { scheme, authority } = await vscode.env.asExternalUri(local);
    await vscode.env.openExternal(vscode.Uri.from({ scheme, authority, path: this.page }));
  }
}

/**
 * Let the Python extension start the session's Python until its user chooses another. It takes no
 * default of an extension, so this is one of the user's settings.
 */
async function offerPython() {
  const settings = vscode.workspace.getConfiguration('python');
  const setting = settings.inspect('defaultInterpreterPath');
  const isInstalled = vscode.extensions.getExtension(PYTHON_EXTENSION) !== undefined;
  if (isInstalled && setting && setting.globalValue === undefined) {
    const everywhere = vscode.ConfigurationTarget.Global;
    await settings.update('defaultInterpreterPath', PYTHON_OF_SESSION, everywhere);
  }
}

exports.activate = context => {
  if (process.env.PORTAL_SERVER_SOCKET) {
    new Session(context);
    context.subscriptions.push(vscode.extensions.onDidChange(offerPython));
    offerPython();
  }
};
