import { connectMongo } from '../../shared/store/connection/connect.js';
import { createLoadOrganisation, unreachedLimit } from '../load/load-organisation.js';
import { Cluster } from '../servers/cluster.js';
import { type OnEnd, runToEnd, stoppedAtEnd, UsageError } from '../servers/run-to-end.js';
import { ownSettings } from '../servers/service-process.js';
import { cycleModels, type MemorySample } from './load/cycle-models.js';

/**
 * Loads and evicts models for a long time: `node dist/scripts/chaos/soak.js [calls] [models]`, by default 10,000 calls
 * over 200 models. Prints the memory of the largest worker during the run. The exit code is 1 if a call failed.
 */

const pepper = 'pepper-of-the-soak-test';
const callers = 4;
const samples = 40;

interface SoakOptions {
  readonly calls: number;
  readonly models: number;
  readonly onEnd: OnEnd;
}

/** @returns false if a call failed */
async function soak({ calls, models, onEnd }: SoakOptions): Promise<boolean> {
  const starting = Cluster.start({ gateways: ['direct'], settings: ownSettings(pepper) });
  const cluster = await stoppedAtEnd(onEnd, starting);
  const { client, database } = await connectMongo(cluster.mongoUrl, { name: 'leadscore-soak' });
  onEnd(() => client.close());
  const organisation = { name: 'Soak', limit: unreachedLimit, keys: ['live'], pepper, models } as const;
  const { modelIds, secrets } = await createLoadOrganisation(database, organisation);
  const url = `${cluster.gateways[0]?.url}/v1/score`;
  const headers = { authorization: `Bearer ${secrets[0]}`, 'content-type': 'application/json' };
  const beganMs = performance.now();
  process.stdout.write('calls  failed  largest worker, MB  workers replaced\n');
  const taken = await cycleModels({
    modelIds,
    calls,
    callers,
    call: async (modelId) => {
      const body = JSON.stringify({ model_id: modelId, records: [{ company_size: 120 }] });
      const reply = await fetch(url, { method: 'POST', headers, body });
      await reply.arrayBuffer();
      return reply.status;
    },
    workerPids: () => cluster.workerPids(),
    sampleEvery: Math.max(1, Math.floor(calls / samples)),
    onSample: (sample) => process.stdout.write(sampleLine(sample)),
  });
  const seconds = (performance.now() - beganMs) / 1_000;
  process.stdout.write(`${calls} calls over ${models} models in ${seconds.toFixed(0)} s\n`);
  return taken.at(-1)?.failed === 0;
}

const sampleLine = ({ calls, failed, maxMb, replaced }: MemorySample): string =>
  `${String(calls).padStart(5)}  ${String(failed).padStart(6)}  ${maxMb.toFixed(0).padStart(18)}  ` +
  `${String(replaced).padStart(16)}\n`;

function positiveCount(name: string, text: string | undefined, byDefault: number): number {
  const count = Number(text ?? byDefault);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw new UsageError(`${name} must be a whole number above 0, but is "${text}"`);
}

await runToEnd(async ({ onEnd }) => {
  const [, , callsText, modelsText] = process.argv;
  const calls = positiveCount('calls', callsText, 10_000);
  const models = positiveCount('models', modelsText, 200);
  if (!(await soak({ calls, models, onEnd }))) process.exitCode = 1;
}, 'The soak test failed');
