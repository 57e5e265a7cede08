import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from './step.mjs';

/**
 * The processes that run a compiled program of a folder: a service, a test run, the command line.
 * @param {string} root the project's root folder
 * @returns {Promise<{ pid: number, program: string }[]>} `program` as a path from the root
 */
export async function programsOf(root) {
  const processes = process.platform === 'linux' ? await linuxProcesses() : await otherProcesses();
  return processes.flatMap(({ pid, words, directory }) => {
    if (pid === process.pid) return [];
    const program = words.map((word) => fromRoot({ root, directory, word })).find((path) => path !== undefined);
    return program === undefined ? [] : [{ pid, program }];
  });
}

const ownProgram = /^(dist\/.+|node_modules\/\.bin\/leadscore)$/;

function fromRoot({ root, directory, word }) {
  const path = word.startsWith(`${root}/`) ? word.slice(root.length + 1) : directory === root ? word : '';
  return ownProgram.test(path) ? path : undefined;
}

/** With the working directory: `npm start` runs a relative path. */
async function linuxProcesses() {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const read = async (pid) => {
    const commandLine = await readFile(join('/proc', pid, 'cmdline'), 'utf8').catch(() => '');
    const directory = await readlink(join('/proc', pid, 'cwd')).catch(() => undefined);
    return { pid: Number(pid), words: programWords(commandLine.split('\0')), directory };
  };
  return Promise.all(pids.map(read));
}

/** Without the working directory. The processes of a service name their programs with the whole path. */
async function otherProcesses() {
  const { stdout } = await runCommand('ps', ['-A', '-ww', '-o', 'pid=,args=']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, ...words]) => ({ pid: Number(pid), words: programWords(words), directory: undefined }));
}

/** Node, its options and its program: a file that a later argument names is not run. */
function programWords([first = '', ...others]) {
  if (!/(^|\/)node(js)?$/.test(first)) return [];
  const program = others.find((word) => !word.startsWith('-'));
  return program === undefined ? [] : [program];
}
