import { spawn } from 'node:child_process';

/** A failure that the reader can fix. It is printed without a stack. */
export class SetupProblem extends Error {}

/**
 * Runs one step of the set-up and prints its outcome, with the duration from one second on.
 * @param {string} name one word
 * @param {(say: (line: string) => void) => Promise<string>} work returns the outcome; `say` prints a line before slow
 *   work
 */
export async function step(name, work) {
  const say = (line) => console.error(`  ${name.padEnd(13)} ${line}`);
  const startMs = performance.now();
  const outcome = await work(say);
  const seconds = (performance.now() - startMs) / 1000;
  say(seconds < 1 ? outcome : `${outcome} (${seconds.toFixed(1)} s)`);
}

/**
 * Runs a program to its end, with nothing on its standard input.
 * @param {string} program
 * @param {string[]} commandLine
 * @param {{ cwd?: string, env?: Record<string, string>, limitMs?: number }} [options] `env` is added to the
 *   environment; the program is killed after `limitMs`
 * @returns {Promise<{ ok: boolean, output: string, stdout: string }>} `ok` when it exited with 0; `output` is standard
 *   output and standard error together
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

const maxShownLines = 8;

/**
 * The last lines of an output, indented for a message.
 * @param {string} output
 */
export function lastLines(output) {
  return indent(output.trimEnd().split('\n').slice(-maxShownLines));
}

/**
 * The first lines of an output: npm prints the cause there.
 * @param {string} output
 */
export function firstLines(output) {
  return indent(output.trimEnd().split('\n').slice(0, maxShownLines));
}

function indent(lines) {
  return lines.map((line) => `    ${line}`).join('\n');
}
