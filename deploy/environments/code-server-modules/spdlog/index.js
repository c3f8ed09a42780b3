// In place of VS Code's own module of this name, which is compiled: log files in plain Node.js.
// Without any, VS Code keeps all its messages in memory, and its Output panel is empty.
const fs = require('fs');

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'critical'];

class Logger {
  constructor(path, mostBytes) {
    this.path = path;
    this.mostBytes = mostBytes;
    this.level = LEVELS.indexOf('info');
    this.isPlain = false;
    LEVELS.forEach((name, level) => {
      this[name] = message => level >= this.level && this.write(name, message);
    });
  }

  write(name, message) {
    const time = new Date().toISOString().replace('T', ' ').replace('Z', '');
    const text = this.isPlain ? message : `${time} [${name}] ${message}\n`;
    try {
      if (fs.statSync(this.path, { throwIfNoEntry: false })?.size > this.mostBytes) {
        fs.renameSync(this.path, `${this.path}.1`);
      }
      fs.appendFileSync(this.path, text);
    } catch {
      // A full home must not end the editor.
    }
  }

  setLevel(level) {
    this.level = level;
  }

  clearFormatters() {
    this.isPlain = true;
  }

  setPattern() {}
  flush() {}
  drop() {}
}

exports.setFlushOn = () => {};
exports.createAsyncRotatingLogger = async (name, path, mostBytes) => new Logger(path, mostBytes);
