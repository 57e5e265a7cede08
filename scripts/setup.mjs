/**
 * Makes this machine ready for Leadscore: `node scripts/setup.mjs`. It needs only Node and a shell, and a second run
 * changes nothing. It prints to standard error: standard output belongs to the command that follows.
 *
 * 1. Checks that Node is new enough.
 * 2. Installs the npm packages of package-lock.json.
 * 3. Finds or installs redis-server.
 * 4. Finds or downloads mongod.
 * 5. Compiles the TypeScript sources to dist/.
 *
 * `node scripts/setup.mjs --check-build` changes nothing; `npm start` runs it first. It fails when Node is too old or
 * nothing is compiled yet, and warns when the sources have changed since they were compiled. An installed package has
 * no sources, so there it checks only Node.
 *
 * `node scripts/setup.mjs --build` (`npm run build`) takes only step 5, also when nothing has changed.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, checkBuild, prepareBuild } from './setup/build.mjs';
import { prepareMongod } from './setup/install-mongod.mjs';
import { prepareRedis } from './setup/install-redis.mjs';
import { withLock } from './setup/lock.mjs';
import { checkNode, checkNodeVersion, preparePackages } from './setup/node-packages.mjs';
import { SetupProblem, step } from './setup/step.mjs';

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');

const [mode] = process.argv.slice(2);
const isPackage = !existsSync(join(root, 'tsconfig.json'));

try {
  if (mode === '--check-build') await checkStart();
  else if (isPackage)
    throw new SetupProblem(
      'This is an installed package, which is compiled already. Set REDIS_URL and MONGODB_URL, and start it.',
    );
  else await withLock(join(root, '.local'), mode === '--build' ? buildOnly : setUp);
} catch (error) {
  console.error(
    error instanceof SetupProblem ? `${mode === undefined ? '\nSet-up failed. ' : ''}${error.message}` : error,
  );
  process.exitCode = 1;
}

async function checkStart() {
  await checkNodeVersion(root);
  if (!isPackage) await checkBuild({ root, say: (line) => console.error(line) });
}

async function setUp() {
  console.error('Setting up');
  await step('node', () => checkNode(root));
  await step('packages', (say) => preparePackages({ root, say }));
  await step('redis-server', (say) => prepareRedis({ root, say }));
  await step('mongod', (say) => prepareMongod({ root, say }));
  await step('build', (say) => prepareBuild({ root, say }));
}

async function buildOnly() {
  await step('build', async (say) => {
    await build({ root, say });
    return 'dist/ is new';
  });
}
