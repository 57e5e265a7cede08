import type { Redis } from 'ioredis';
import type { Document } from 'mongodb';
import type { AdminContext } from '../../../shared/admin/action.js';
import { runAction } from '../../../shared/admin/run-action.js';
import { defaultKeyBrand } from '../../../shared/config/config.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { cpuTimesBeside } from '../grading/grading.js';
import { spreadOf } from '../report/percentile.js';
import { operatorContext } from '../service/operator-context.js';
import { type ConsoleOrganisation, pepper } from './console-organisation.js';
import { type ConsoleRead, readsOf } from './console-reads.js';
import { profiledQueries } from './profiled-queries.js';

/** The cost of one read of the console's API. */
export interface AskedRead {
  readonly name: string;
  /** Commands that MongoDB executed by a plan. */
  readonly queries: number;
  /** Sums over these queries. */
  readonly keys: number;
  readonly documents: number;
  /** The first call after MongoDB started. */
  readonly first_ms: number;
  /** The fastest of the calls after it, and their median. */
  readonly best_ms: number;
  readonly ms: number;
  /** Means of these calls. The console's part is that of this process, without HTTP. */
  readonly cpu_ms: { readonly console: number; readonly mongod: number };
}

const warmUps = 3;
/** The CPU time of mongod is read in steps of 10 ms. */
const calls = 20;

/** Asks each read of the console's API as an operator does, one after another. */
export async function askConsole(of: {
  readonly url: string;
  readonly pid: number;
  readonly redis: Redis;
  readonly organisation: ConsoleOrganisation;
  readonly say: (line: string) => void;
}): Promise<AskedRead[]> {
  const { url, pid, redis, organisation, say } = of;
  const { client, database } = await connectMongo(url, { name: 'console-bench' });
  try {
    const keySettings = async () => ({ brand: defaultKeyBrand, pepper });
    const context: AdminContext = { ...operatorContext(database, redis), keySettings };
    const asked: AskedRead[] = [];
    for (const read of readsOf(organisation, context.clock.now())) {
      const row = await askedRead(read, { context, pid });
      say(`${row.name}: ${Math.round(row.ms)} ms, ${row.keys} keys, ${row.documents} documents`);
      asked.push(row);
    }
    return asked;
  } finally {
    await client.close();
  }
}

async function askedRead(
  { name, action, input }: ConsoleRead,
  { context, pid }: { readonly context: AdminContext; readonly pid: number },
): Promise<AskedRead> {
  const ask = async (): Promise<number> => {
    const startMs = performance.now();
    await runAction(action, input, context);
    return performance.now() - startMs;
  };
  const firstMs = await ask();
  for (let count = 0; count < warmUps; count += 1) await ask();
  const before = cpuTimesBeside(pid);
  const times: number[] = [];
  for (let count = 0; count < calls; count += 1) times.push(await ask());
  const after = cpuTimesBeside(pid);
  const queries = await profiledQueries(context.database, ask);
  const { min, median } = spreadOf(times);
  const sumOf = (of: (query: Document) => number) => queries.reduce((sum, query) => sum + of(query), 0);
  return {
    ...{ name, queries: queries.length, first_ms: firstMs, best_ms: min, ms: median },
    keys: sumOf(({ keysExamined = 0 }) => keysExamined),
    documents: sumOf(({ docsExamined = 0 }) => docsExamined),
    cpu_ms: {
      console: (after.own - before.own) / calls,
      mongod: (after.mongod - before.mongod) / calls,
    },
  };
}
