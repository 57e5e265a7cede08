import { expect } from 'chai';
import { OutcomeLimit } from '../../../api/routes/outcome-limit.js';
import { machineClock, monthOf } from '../../../shared/contract/dates.js';
import type { UsageCounter } from '../../../shared/redis/keys.js';
import { failureOf } from '../../support/failure-of.js';

const leads = (count: number, from = 0): Set<string> =>
  new Set(Array.from({ length: count }, (_, lead) => `L-${from + lead}`));

describe('OutcomeLimit', () => {
  let stored: Set<string>;
  let counts: number;
  let records: Readonly<Record<string, number>>;
  let limit: OutcomeLimit;

  beforeEach(() => {
    stored = new Set();
    counts = 0;
    records = {};
    limit = newLimit();
  });

  /** A gateway's limit. The counts of MongoDB are replaced, so that a test sees how often it is asked. */
  const newLimit = () =>
    new OutcomeLimit({
      outcomes: {
        count: async (_organisation: string, crmIds?: Iterable<string>) => {
          if (crmIds !== undefined) return [...crmIds].filter((crmId) => stored.has(crmId)).length;
          counts += 1;
          return stored.size;
        },
      },
      ledger: {
        snapshot: async ({ month }: UsageCounter) => ({ records: records[month] ?? 0, recent: [] }),
      },
      clock: machineClock(),
      retentionDays: 100,
    });

  const report = async (crmIds: ReadonlySet<string>, gateway = limit): Promise<void> => {
    const took = await gateway.take('org', crmIds);
    const before = stored.size;
    for (const crmId of crmIds) stored.add(crmId);
    took(stored.size - before);
  };
  const refusal = async (crmIds: ReadonlySet<string>) => (await failureOf(report(crmIds))).message;

  it('accepts outcomes of 10,000 leads of an organisation that has scored nothing, and no further one', async () => {
    for (let call = 0; call < 10; call += 1) await report(leads(1_000, 1_000 * call));
    expect(stored.size).to.equal(10_000);
    expect(await refusal(leads(1, 10_000))).to.include('outcomes of 10000 leads');
    await report(leads(1_000));
    expect(await refusal(leads(1_000, 9_001)), 'one of them is new').to.include('No outcome of the call was recorded');
  });

  it('accepts outcomes of five leads for each record scored in the months of retention', async () => {
    const monthMs = 31 * 24 * 60 * 60 * 1_000;
    const monthsAgo = (months: number) => monthOf(Date.now() - months * monthMs);
    records = { [monthsAgo(0)]: 1_000, [monthsAgo(2)]: 1_100, [monthsAgo(6)]: 1_000_000 };
    stored = leads(9_900);
    for (let lead = 9_900; lead < 10_500; lead += 100) await report(leads(100, lead));
    expect(await refusal(leads(1, 10_500))).to.include('outcomes of 10500 leads');
  });

  it('counts no more often than each time a tenth of the room is used', async () => {
    for (let call = 0; call < 4_000; call += 1) await report(leads(1, call));
    expect(counts).to.be.at.most(4);
  });

  it('counts once for concurrent calls, and lets only as many pass as fit', async () => {
    stored = leads(9_000);
    const calls = Array.from({ length: 20 }, (_, call) => report(leads(100, 9_000 + 100 * call)));
    const done = await Promise.allSettled(calls);
    expect(done.filter(({ status }) => status === 'fulfilled')).to.have.length(10);
    expect(stored.size).to.equal(10_000);
    expect(counts).to.be.at.most(2);
  });

  it('does not count again for calls that are refused within ten seconds', async () => {
    stored = leads(10_000);
    for (let call = 0; call < 20; call += 1) await refusal(leads(10, 10_000));
    expect(counts).to.equal(1);
  });

  it('needs no room for leads that have an outcome', async () => {
    for (let call = 0; call < 50; call += 1) await report(leads(1_000));
    await report(leads(9_000));
    expect(stored.size).to.equal(9_000);
  });

  it('counts again after an error of MongoDB', async () => {
    let isDown = true;
    const flaky = new OutcomeLimit({
      outcomes: {
        count: async () => {
          if (isDown) throw new Error('down');
          return 0;
        },
      },
      ledger: { snapshot: async () => ({ records: 0, recent: [] }) },
      clock: machineClock(),
      retentionDays: 100,
    });
    expect((await failureOf(report(leads(1), flaky))).message).to.equal('down');
    isDown = false;
    await report(leads(1), flaky);
  });
});
