import { runDemo } from './tour/run-demo.js';

/*
 * `npm run demo`: the tour for whoever starts Leadscore for the first time. A signal stops it wherever it is; what it has
 * started is stopped in good order first.
 */

const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupted.abort());
// A reader that has seen enough (`| head`) ends the tour as Ctrl-C does.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => interrupted.abort());

process.exitCode = await runDemo(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  signal: interrupted.signal,
});
