import { expect } from 'chai';
import { OutcomeLimit } from '../../../../api/routes/outcomes/outcome-limit.js';
import { outcomeLimitOf } from '../../../../shared/contract/plans.js';
import { failureOf } from '../../../support/failure-of.js';

const leads = (count: number, from = 0): Set<string> =>
  new Set(Array.from({ length: count }, (_, lead) => `L-${from + lead}`));

describe('OutcomeLimit', () => {
  let stored: Set<string>;
  let counts: number;
  let limit: OutcomeLimit;

  beforeEach(() => {
    stored = new Set();
    counts = 0;
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
      retentionDays: 100,
    });

  const free = { _id: 'org', plan: 'free' } as const;
  const report = async (
    crmIds: ReadonlySet<string>,
    { gateway = limit, organisation = free as Parameters<OutcomeLimit['take']>[0] } = {},
  ): Promise<void> => {
    const took = await gateway.take(organisation, crmIds);
    const before = stored.size;
    for (const crmId of crmIds) stored.add(crmId);
    took(stored.size - before);
  };
  const refusal = async (crmIds: ReadonlySet<string>) => (await failureOf(report(crmIds))).message;

  it('accepts outcomes of 10,000 leads on a plan without live keys, and no further one', async () => {
    for (let call = 0; call < 10; call += 1) await report(leads(1_000, 1_000 * call));
    expect(stored.size).to.equal(10_000);
    expect(await refusal(leads(1, 10_000))).to.include('outcomes of 10000 leads');
    await report(leads(1_000));
    expect(await refusal(leads(1_000, 9_001)), 'one of them is new').to.include('No outcome of the call was recorded');
  });

  it('accepts outcomes of five leads for each record of the plan in the months of retention', async () => {
    const organisation = { _id: 'org', plan: 'pro', limit: 525 } as const; // 5 x 525 x 4 months of 30 days
    stored = leads(9_900);
    for (let lead = 9_900; lead < 10_500; lead += 100) await report(leads(100, lead), { organisation });
    const { message } = await failureOf(report(leads(1, 10_500), { organisation }));
    expect(message).to.include('outcomes of 10500 leads under its plan');
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
      retentionDays: 100,
    });
    expect((await failureOf(report(leads(1), { gateway: flaky }))).message).to.equal('down');
    isDown = false;
    await report(leads(1), { gateway: flaky });
  });
});

describe('outcomeLimitOf', () => {
  it('is five for each record of the monthly limit and each 30 days of retention, and at least 10,000', () => {
    expect(outcomeLimitOf({ plan: 'free' }, 760)).to.equal(10_000);
    expect(outcomeLimitOf({ plan: 'pro' }, 760)).to.equal(1_300_000);
    expect(outcomeLimitOf({ plan: 'enterprise' }, 30)).to.equal(150_000);
    expect(outcomeLimitOf({ plan: 'pro', limit: 1_000 }, 31)).to.equal(10_000);
    expect(outcomeLimitOf({ plan: 'pro', limit: 1_001 }, 31)).to.equal(10_010);
    expect(outcomeLimitOf({ plan: 'pro', limit: 0 }, 36_500)).to.equal(10_000);
  });

  it('counts one month for a trial, which is free', () => {
    expect(outcomeLimitOf({ plan: 'trial' }, 760)).to.equal(50_000);
    expect(outcomeLimitOf({ plan: 'trial', limit: 20_000 }, 1)).to.equal(100_000);
  });
});
