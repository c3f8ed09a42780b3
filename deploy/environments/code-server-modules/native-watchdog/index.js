// In place of VS Code's own module of this name, which is compiled: ends with the parent process.
const EXIT_STATUS = 87;
const POLL_MS = 5_000;

exports.start = parentPid => {
  const watch = () => {
    try {
      process.kill(parentPid, 0);
    } catch {
      process.exit(EXIT_STATUS);
    }
  };
  setInterval(watch, POLL_MS).unref();
};
