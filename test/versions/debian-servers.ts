import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectFile } from '../../shared/process/project-root.js';
import { runProgram } from '../support/run-program.js';

const suite = 'trixie'; // Debian 13: Redis 8.0 and Valkey 8.1
const packages = [
  ...['redis-server', 'redis-tools', 'valkey-server', 'valkey-tools', 'libc6', 'libatomic1', 'libjemalloc2', 'liblzf1'],
  ...['libssl3t64', 'libstdc++6', 'libgcc-s1', 'libsystemd0', 'libcap2', 'libzstd1', 'zlib1g'],
];
const directory = projectFile('.local/debian-13');

/** A folder that holds a `redis-server`, for PATH; or why it could not be made. */
export type ServerFolder = { readonly folder: string } | { readonly reason: string };

/**
 * The Redis or the Valkey of Debian 13, with the C library that it needs, for a system of another release. The packages
 * come from the mirror of this system, and stay under `.local/`.
 */
export async function debianServer(program: 'redis-server' | 'valkey-server'): Promise<ServerFolder> {
  const reason = existsSync(join(directory, 'tree')) ? undefined : await unpackPackages();
  if (reason !== undefined) return { reason };
  const libraries = join(directory, 'tree/usr/lib');
  const names = await readdir(libraries);
  const architecture = names.find((name) => name.includes('-linux-')) ?? '';
  const loader = (await readdir(join(libraries, architecture))).find((name) => name.startsWith('ld-linux')) ?? '';
  const folder = join(directory, program);
  await mkdir(folder, { recursive: true });
  const starter = join(folder, 'redis-server');
  const path = `${libraries}/${architecture}`;
  await writeFile(
    starter,
    `#!/bin/sh\nexec "${path}/${loader}" --library-path "${path}" "${directory}/tree/usr/bin/${program}" "$@"\n`,
  );
  await chmod(starter, 0o755);
  return { folder };
}

/** @returns why the packages could not be unpacked; undefined when they were */
async function unpackPackages(): Promise<string | undefined> {
  const aside = `${directory}.${process.pid}.part`;
  const run = async (program: string, ...commandLine: string[]) => {
    const { exitCode, output } = await runProgram(program, commandLine, { directory: aside, limitMs: 300_000 });
    return { output, failure: exitCode === 0 ? undefined : `${program} failed: ${output.trim().slice(-300)}` };
  };
  try {
    for (const name of ['lists/partial', 'cache/archives/partial', 'tree'])
      await mkdir(join(aside, name), { recursive: true });
    const targets = await run('apt-get', 'indextargets', '--format', '$(REPO_URI) $(ORIGIN) $(CODENAME)');
    if (targets.failure !== undefined) return 'this system has no apt-get';
    const mirror = /^(\S+) Debian [a-z]+$/m.exec(targets.output)?.[1];
    if (mirror === undefined) return 'the package lists of this system name no mirror of Debian';
    await writeFile(join(aside, 'sources.list'), `deb ${mirror} ${suite} main\n`);
    const own = [
      ...['-o', `Dir::Etc::sourcelist=${aside}/sources.list`, '-o', 'Dir::Etc::sourceparts=/dev/null'],
      ...['-o', `Dir::State::lists=${aside}/lists`, '-o', `Dir::Cache=${aside}/cache`],
    ];
    const updated = await run('apt-get', ...own, 'update');
    if (updated.failure !== undefined) return updated.failure;
    const downloaded = await run('apt-get', ...own, 'download', ...packages.map((name) => `${name}/${suite}`));
    if (downloaded.failure !== undefined) return downloaded.failure;
    for (const name of (await readdir(aside)).filter((each) => each.endsWith('.deb'))) {
      const unpacked = await run('dpkg', '-x', name, 'tree');
      if (unpacked.failure !== undefined) return unpacked.failure;
    }
    await mkdir(directory, { recursive: true });
    await rename(join(aside, 'tree'), join(directory, 'tree'));
    return undefined;
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}
