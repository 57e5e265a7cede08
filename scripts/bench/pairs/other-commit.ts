import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { projectFile } from '../../../shared/process/project-root.js';
import { type OnEnd, UsageError } from '../../servers/run-to-end.js';
import { isAlive } from '../../servers/server-process.js';

export interface BuiltCommit {
  /** First digits of its hash. */
  readonly commit: string;
  readonly root: string;
}

/**
 * Checks out a commit under `.local/` and builds it there. The end of the run removes it. Its packages are those of
 * this working tree when both have the same package-lock.json.
 * @param ref commit, branch or tag
 * @throws UsageError if there is no such commit; Error with the output of a failed step
 */
export async function buildCommit(
  ref: string,
  { say, onEnd }: { readonly say: (line: string) => void; readonly onEnd: OnEnd },
): Promise<BuiltCommit> {
  const project = projectFile('.');
  const commit = await git('rev-parse', '--verify', '--short', `${ref}^{commit}`).catch((cause) => {
    throw new UsageError(`Git finds no commit "${ref}" here. Give a commit, branch or tag of this repository`, {
      cause,
    });
  });
  await removeLeftovers();
  const root = projectFile(`.local/${prefix}${process.pid}`);
  const stopped = new AbortController();
  onEnd(() => removeTree(root));
  onEnd(async () => stopped.abort());
  const step = (program: string, args: readonly string[]) => run(program, args, { cwd: root, signal: stopped.signal });
  await mkdir(projectFile('.local'), { recursive: true });
  await git('worktree', 'add', '--detach', root, commit);
  if ((await lockFileIn(root)) === (await lockFileIn(project))) {
    await symlink(join(project, 'node_modules'), join(root, 'node_modules'));
  } else {
    say(`installing the packages of ${commit}`);
    await step('npm', ['ci', '--ignore-scripts', '--include=dev', '--loglevel=error']);
  }
  say(`building ${commit}`);
  await step('npm', ['run', 'build']);
  return { commit, root };
}

const prefix = 'bench-';

const lockFileIn = (root: string): Promise<string> => readFile(join(root, 'package-lock.json'), 'utf8');

/** Removes what killed runs have left. */
async function removeLeftovers(): Promise<void> {
  const names = await readdir(projectFile('.local')).catch(() => []);
  for (const name of names) {
    const owner = new RegExp(`^${prefix}(\\d+)$`).exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) await removeTree(projectFile(`.local/${name}`));
  }
}

/** Linked packages stay: the link goes. A stopped build may still write for a moment. */
async function removeTree(root: string): Promise<void> {
  await rm(root, { recursive: true, force: true, maxRetries: 10 });
  await git('worktree', 'prune');
}

const git = (...args: readonly string[]): Promise<string> => run('git', args, { cwd: projectFile('.') });

const maxOutputBytes = 64 * 1024 * 1024;
const maxShownCharacters = 2_000;

/** @returns standard output. @throws Error with the end of all output */
async function run(
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly signal?: AbortSignal },
): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { ...options, maxBuffer: maxOutputBytes });
    return stdout.trim();
  } catch (cause) {
    const { stdout = '', stderr = '' } = cause as { readonly stdout?: string; readonly stderr?: string };
    const output = `${stdout}${stderr}`.trim().slice(-maxShownCharacters);
    throw new Error(`"${program} ${args.join(' ')}" failed in ${options.cwd}:\n${output}`, { cause });
  }
}
