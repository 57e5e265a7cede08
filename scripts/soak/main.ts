/**
 * Loads and unloads models for long: `node dist/scripts/soak/main.js [calls] [models]`, 10,000 calls over 200 models unless
 * told otherwise. Prints the memory of the largest worker as it goes, and ends with 1 when a call failed.
 */
import { checkBundle } from '../../shared/bundle/check-bundle.js';
import { readBundle } from '../../shared/bundle/read-bundle.js';
import { messageOf } from '../../shared/errors.js';
import { projectFile } from '../../shared/project-root.js';
import { ApiKeyStore } from '../../shared/store/api-keys.js';
import { connectMongo } from '../../shared/store/connect.js';
import { createModel } from '../../shared/store/create-model.js';
import { OrganisationStore } from '../../shared/store/organisations.js';
import { Cluster } from '../chaos/cluster.js';
import { cycleModels } from './cycle-models.js';

const keyPepper = 'pepper-of-the-soak-test';
const callers = 4;
const samples = 40;

async function soak(calls: number, models: number): Promise<boolean> {
  const cluster = await Cluster.start({
    gateways: ['direct'],
    settings: {
      PORT: '0',
      ADMIN_PORT: '0',
      WORKER_ADMIN_PORT: '0',
      LOG_LEVEL: 'warn',
      KEY_PEPPER: keyPepper,
    },
  });
  try {
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
  } finally {
    await cluster.stop();
  }
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

const [, , calls = '10000', models = '200'] = process.argv;
soak(Number(calls), Number(models)).then(
  (isFine) => process.exit(isFine ? 0 : 1),
  (error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`);
    process.exit(1);
  },
);
