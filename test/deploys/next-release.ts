import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageVersion } from '../../shared/messages/score-job.js';
import { projectFile } from '../../shared/process/project-root.js';

/** A built copy of this project that differs from it in the message version alone, one higher. */
export interface NextRelease {
  readonly root: string;
  remove(): Promise<void>;
}

/** The bundles have no spaces. */
const declared = (version: number): string => `messageVersion=${version};`;

/** @throws Error when the bundles do not declare the message version once */
export async function nextRelease(): Promise<NextRelease> {
  const root = await mkdtemp(join(tmpdir(), 'leadscore-release-'));
  await cp(projectFile('package.json'), join(root, 'package.json'));
  const filter = (path: string): boolean => path !== projectFile('dist/test');
  await cp(projectFile('dist'), join(root, 'dist'), { recursive: true, filter });
  for (const name of ['node_modules', 'shared', 'worker', 'api']) await symlink(projectFile(name), join(root, name));
  const chunks = join(root, 'dist', 'chunks');
  let raised = 0;
  for (const name of await readdir(chunks)) {
    if (!name.endsWith('.js')) continue;
    const text = await readFile(join(chunks, name), 'utf8');
    if (!text.includes(declared(messageVersion))) continue;
    await writeFile(join(chunks, name), text.replace(declared(messageVersion), declared(messageVersion + 1)));
    raised += 1;
  }
  if (raised !== 1) throw new Error(`the bundles declare the message version ${raised} times, expected once`);
  return { root, remove: () => rm(root, { recursive: true, force: true }) };
}
