import { runCommand } from './run-command.mjs';

/**
 * The major version of the redis-server package that apt would take.
 * @param {string[]} [aptOptions] options that apt's commands are given, as to which package lists to read
 * @returns {Promise<number | undefined>} undefined when the package lists name none
 */
export async function redisCandidateMajor(aptOptions = []) {
  const { stdout } = await runCommand('apt-cache', [...aptOptions, 'policy', 'redis-server'], {
    env: { LC_ALL: 'C' },
  });
  const match = /Candidate: (?:\d+:)?(\d+)\./.exec(stdout);
  return match ? Number(match[1]) : undefined;
}
