/**
 * Loads and unloads models for long: `node dist/scripts/soak/main.js [calls] [models]`, 10,000 calls over 200 models unless
 * told otherwise. Prints the memory of the largest worker as it goes, and ends with 1 when a call failed.
 */
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { readBundle } from '../../shared/bundle/read-bundle.js';
import { projectFile } from '../../shared/project-root.js';
import { ApiKeyStore } from '../../shared/store/api-keys.js';
import { connectMongo } from '../../shared/store/connect.js';
import { createModel } from '../../shared/store/create-model.js';
import { OrganisationStore } from '../../shared/store/organisations.js';
import { Cluster } from '../chaos/cluster.js';
import { type OnEnd, runToEnd, stoppedAtEnd, UsageError } from '../stack/run-to-end.js';
import { cycleModels } from './cycle-models.js';

const keyPepper = 'pepper-of-the-soak-test';
const callers = 4;
const samples = 40;

interface SoakOptions {
  readonly calls: number;
  readonly models: number;
  readonly onEnd: OnEnd;
}

/** Gives whether all calls were answered with 200. */
async function soak({ calls, models, onEnd }: SoakOptions): Promise<boolean> {
  const ports = { PORT: '0', ADMIN_PORT: '0', WORKER_ADMIN_PORT: '0' };
  const settings = { ...ports, LOG_LEVEL: 'warn', KEY_PEPPER: keyPepper };
  const cluster = await stoppedAtEnd(onEnd, Cluster.start({ gateways: ['direct'], settings }));
  const { secret, modelIds } = await fill(cluster.mongoUrl, models);
  const url = `${cluster.gateways[0]?.url}/v1/score`;
  const beganMs = performance.now();
  process.stdout.write('calls  failed  largest worker, MB  workers replaced\n');
  const taken = await cycleModels({
    modelIds,
    calls,
    callers,
    call: async (modelId) => {
      const body = JSON.stringify({ model_id: modelId, records: [{ company_size: 120 }] });
      const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
      const reply = await fetch(url, { method: 'POST', headers, body });
      await reply.arrayBuffer();
      return reply.status;
    },
    workerPids: () => cluster.workerPids(),
    sampleEvery: Math.max(1, Math.floor(calls / samples)),
    onSample: ({ calls: done, failed, largestMb, replaced }) =>
      process.stdout.write(
        `${String(done).padStart(5)}  ${String(failed).padStart(6)}  ${largestMb.toFixed(0).padStart(18)}  ${String(replaced).padStart(16)}\n`,
      ),
  });
  const seconds = (performance.now() - beganMs) / 1_000;
  process.stdout.write(`${calls} calls over ${models} models in ${seconds.toFixed(0)} s\n`);
  return taken.at(-1)?.failed === 0;
}

/** Makes an organisation with a key and so many models, all of them the demo's. */
async function fill(mongoUrl: string, models: number): Promise<{ secret: string; modelIds: string[] }> {
  const { client, database } = await connectMongo(mongoUrl, { name: 'leadscore-soak' });
  try {
    const now = new Date();
    const fields = { name: 'Soak', plan: 'enterprise', policy: 'warn', limit: 1e9 } as const;
    const { _id: organisationId } = await new OrganisationStore(database).create(fields, now);
    const key = { organisationId, kind: 'live', name: 'soak', ratePerSecond: 1_000_000, now } as const;
    const { secret } = await new ApiKeyStore(database).create({
      ...key,
      brand: 'leadscore',
      pepper: keyPepper,
    });
    const bundle = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
    const modelIds: string[] = [];
    for (let index = 0; index < models; index += 1)
      modelIds.push((await createModel(database, { organisationId, bundle, now }))._id);
    return { secret, modelIds };
  } finally {
    await client.close();
  }
}

/** A whole number of at least one, or as many as are usual. */
function countOf(what: string, text: string | undefined, usual: number): number {
  const count = Number(text ?? usual);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new UsageError(`${what} must be a whole number above 0, not "${text}"`);
}

await runToEnd(async ({ onEnd }) => {
  const [, , calls, models] = process.argv;
  const counts = { calls: countOf('calls', calls, 10_000), models: countOf('models', models, 200) };
  if (!(await soak({ ...counts, onEnd }))) process.exitCode = 1;
}, 'The soak failed');
