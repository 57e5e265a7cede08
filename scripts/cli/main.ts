#!/usr/bin/env node
import { readConfig } from '../../shared/config.js';
import { exitCodes } from './cli-error.js';
import { runCli } from './run-cli.js';

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`Error: standard output cannot be written: ${error.message}\n`);
  process.exit(exitCodes.failed);
});

const exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  readConfig: () => readConfig(),
});

const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    stream.write('', () => resolve());
  });
await Promise.all([process.stdout, process.stderr].map(written));
// The driver of a MongoDB that takes connections and says nothing would keep the process for twenty seconds.
process.exit(exitCode);
