import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SetupProblem } from './step.mjs';

/**
 * Checks that this Node is as new as package.json asks.
 * @param {string} root
 * @throws SetupProblem that says what to install
 */
export async function checkNodeVersion(root) {
  const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const oldest = engines.node.replace('>=', '');
  const [oldestMajor, oldestMinor] = oldest.split('.').map(Number);
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    throw new SetupProblem(`Node ${process.versions.node} is too old: install ${oldest} or later.`);
  }
}

/**
 * Checks the same, and that this is a system on which the servers run.
 * @param {string} root
 * @returns {Promise<string>} the version of Node
 * @throws SetupProblem that says what to install
 */
export async function checkNode(root) {
  await checkNodeVersion(root);
  if (process.platform === 'win32') {
    throw new SetupProblem(
      'Redis and this set-up need Linux or macOS: on Windows, use the Windows Subsystem for Linux.',
    );
  }
  return process.versions.node;
}
