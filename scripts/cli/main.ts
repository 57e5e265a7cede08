#!/usr/bin/env node
import { readOperatorConfig } from '../../shared/config/config.js';
import { exitCodes } from './context/cli-error.js';
import { runCli } from './run-cli.js';

// A closed pipe (`| head`) is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`Error: cannot write to standard output: ${error.message}\n`);
  process.exit(exitCodes.failed);
});

const exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  stdin: process.stdin,
  readConfig: () => readOperatorConfig(),
});

const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    stream.write('', () => resolve());
  });
await Promise.all([process.stdout, process.stderr].map(written));
// When MongoDB accepts connections but never answers, its driver would keep the process alive for 20 s.
process.exit(exitCode);
