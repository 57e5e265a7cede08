/**
 * Makes this machine ready for Leadscore: `node scripts/setup.mjs`. Needs Node and a shell, nothing else; what is
 * there already is left alone, so running it again takes no time. It prints to standard error: standard output belongs to
 * the command that follows.
 *
 * 1. Node is new enough.
 * 2. The npm packages of package-lock.json are installed.
 * 3. There is a redis-server to use.
 * 4. There is a mongod to use.
 * 5. The TypeScript sources are compiled to dist/.
 *
 * `node scripts/setup.mjs --check-build` changes nothing: it fails when Node is too old or there is nothing to start
 * yet, and says so when the sources have changed since they were compiled. `npm start` asks this first.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareBuild } from './setup/build.mjs';
import { checkBuild } from './setup/check-build.mjs';
import { prepareMongod } from './setup/install-mongod.mjs';
import { prepareRedis } from './setup/install-redis.mjs';
import { alone } from './setup/lock.mjs';
import { checkNode, checkNodeVersion } from './setup/node-version.mjs';
import { preparePackages } from './setup/packages.mjs';
import { SetupProblem, step } from './setup/step.mjs';

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');

const isCheck = process.argv.includes('--check-build');

try {
  if (isCheck) await checkStart();
  else await setUp();
} catch (error) {
  console.error(
    error instanceof SetupProblem ? `${isCheck ? '' : '\nSet-up failed. '}${error.message}` : error,
  );
  process.exitCode = 1;
}

async function checkStart() {
  await checkNodeVersion(root);
  await checkBuild({ root, say: (line) => console.error(line) });
}

async function setUp() {
  console.error('Setting up');
  await alone(join(root, '.local'), async () => {
    await step('node', () => checkNode(root));
    await step('packages', (say) => preparePackages({ root, say }));
    await step('redis-server', (say) => prepareRedis({ root, say }));
    await step('mongod', (say) => prepareMongod({ root, say }));
    await step('build', (say) => prepareBuild({ root, say }));
  });
}
