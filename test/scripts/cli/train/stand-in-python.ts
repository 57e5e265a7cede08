import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One step of a training that a stand-in plays. */
export type PlayedStep =
  | { readonly say: unknown }
  | { readonly raw: string }
  | { readonly stderr: string }
  /** Reads a line of standard input. */
  | { readonly reads: true }
  /** Reads the rows of pipe 3 to their end. */
  | { readonly readsRows: true }
  /** Waits for SIGTERM, then reports the interruption as a training does. */
  | { readonly hangs: true }
  | { readonly exits: number };

/** How a training was called. */
export interface PlayedRun {
  readonly words: readonly string[];
  readonly pythonPath: string;
  readonly answers: readonly string[];
  readonly rows: readonly string[];
}

/** A program that plays an interpreter of Python. It runs the steps in the file of leads, or in that of `--out`. */
export class StandInPython {
  private constructor(
    readonly folder: string,
    readonly path: string,
  ) {}

  static async create(): Promise<StandInPython> {
    const folder = await mkdtemp(join(tmpdir(), 'leadscore-train-test-'));
    return new StandInPython(folder, await programIn(folder, '3.12'));
  }

  /** An interpreter of another version. */
  ofVersion(version: string): Promise<string> {
    return programIn(this.folder, version);
  }

  /** A file of leads with the steps of the training. */
  async file(name: string, steps: readonly PlayedStep[]): Promise<string> {
    const path = join(this.folder, name);
    await writeFile(path, steps.map((step) => `${JSON.stringify(step)}\n`).join(''));
    return path;
  }

  hasRun(file: string): boolean {
    return existsSync(`${file}.ran`);
  }

  async runOf(file: string): Promise<PlayedRun> {
    return JSON.parse(await readFile(`${file}.ran`, 'utf8')) as PlayedRun;
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function programIn(folder: string, version: string): Promise<string> {
  const path = join(folder, `python-${version}`);
  await writeFile(path, `#!${process.execPath}\nconst version = '${version}';\n${program}`, { mode: 0o755 });
  return path;
}

/** It also plays `-m venv` and `-m pip`. A folder `hangs` beside the program makes pip wait for SIGTERM. */
const program = `
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const [, , flag, name, ...words] = process.argv;
const forever = () => new Promise(() => setInterval(() => {}, 1000));
if (flag === '-c') {
  console.log(version);
} else if (name === 'venv') {
  fs.mkdirSync(path.join(words[0], 'bin'), { recursive: true });
  fs.copyFileSync(__filename, path.join(words[0], 'bin', 'python'));
} else if (name === 'pip') {
  console.log('Collecting numpy==2.4.6 (from -r requirements.txt)');
  const mark = path.join(__dirname, '..', '..', 'pip');
  const mode = fs.existsSync(mark) ? fs.readFileSync(mark, 'utf8') : '';
  if (mode === 'hangs') forever();
  if (mode === 'fails') {
    console.error('ERROR: No matching distribution found for numpy');
    process.exitCode = 1;
  }
} else {
  play();
}

async function play() {
  const file = words.map((word) => word.slice(word.indexOf('=') + 1)).find((word) => fs.existsSync(word));
  const ran = { words, pythonPath: process.env.PYTHONPATH, answers: [], rows: [] };
  const note = () => fs.writeFileSync(file + '.ran', JSON.stringify(ran));
  note();
  const lines = readline.createInterface({ input: process.stdin });
  const answers = lines[Symbol.asyncIterator]();
  const say = (message) => console.log(JSON.stringify(message));
  for (const line of fs.readFileSync(file, 'utf8').split('\\n').filter(Boolean)) {
    const step = JSON.parse(line);
    if ('say' in step) say(step.say);
    if ('raw' in step) console.log(step.raw);
    if ('stderr' in step) console.error(step.stderr);
    if (step.reads) ran.answers.push((await answers.next()).value);
    if (step.readsRows) ran.rows = fs.readFileSync(3, 'utf8').split('\\n').filter(Boolean);
    note();
    if (step.hangs) {
      process.once('SIGTERM', () => {
        say({ error: { code: 'interrupted', message: 'interrupted; nothing was written' } });
        process.exit(130);
      });
      say({ progress: { step: 'search', text: 'hanging', share: 0.5, seconds_left: 10 } });
      await forever();
    }
    if ('exits' in step) process.exitCode = step.exits;
  }
  lines.close();
  process.stdin.destroy();
}
`;
