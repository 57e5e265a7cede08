import { spawn } from 'node:child_process';

/**
 * Runs a program to its end with nothing on its standard input.
 * @param {string} program
 * @param {string[]} commandLine
 * @param {{ cwd?: string, env?: Record<string, string>, limitMs?: number }} [options] `env` is added to the
 *   environment; past `limitMs` the program is ended
 * @returns {Promise<{ ok: boolean, output: string, stdout: string }>} whether it ran and exited with 0, what it
 *   printed on both outputs together, and on the standard one alone
 */
export function runCommand(program, commandLine, { cwd, env, limitMs } = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, commandLine, {
      cwd,
      env: { ...process.env, ...env },
      timeout: limitMs,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    child.once('error', (error) => resolve({ ok: false, output: error.message, stdout }));
    child.once('close', (code) => resolve({ ok: code === 0, output, stdout }));
  });
}

const SHOWN_LINES = 8;

/**
 * The end of what a program printed, short enough to show inside a message.
 * @param {string} output
 */
export function lastLines(output) {
  return indent(output.trimEnd().split('\n').slice(-SHOWN_LINES));
}

/**
 * The beginning of what a program printed, for one that tells the cause first.
 * @param {string} output
 */
export function firstLines(output) {
  return indent(output.trimEnd().split('\n').slice(0, SHOWN_LINES));
}

function indent(lines) {
  return lines.map((line) => `    ${line}`).join('\n');
}
