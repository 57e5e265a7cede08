import { expect } from 'chai';
import type { UsageBucket } from '../../../shared/redis/keys.js';
import { eventually } from '../../support/eventually.js';
import type { TestWorkspace } from '../../support/service/workspace.js';

/** The records, calls and predictions that are counted for an organisation. */
export interface Counted {
  readonly live: number;
  readonly test: number;
  readonly calls: number;
  readonly predictions: number;
}

export const nothingCounted: Counted = { live: 0, test: 0, calls: 0, predictions: 0 };

/** Waits until no lease is left and Redis agrees with the ledger, then returns the counts. */
export async function countedAtRest(own: TestWorkspace): Promise<Counted> {
  const [live, test] = await Promise.all([countedIn(own, 'live'), countedIn(own, 'test')]);
  const [calls, predictions] = await Promise.all([own.ledgerRows(), own.predictions()]);
  return { live, test, calls: calls.length, predictions: predictions.length };
}

async function countedIn(own: TestWorkspace, bucket: UsageBucket): Promise<number> {
  const used = await own.ledgerSum(bucket);
  await eventually(async () => {
    expect(await own.redisUsage(bucket), `${bucket} records in Redis`).to.deep.equal({ used, leased: 0 });
  });
  return used;
}
