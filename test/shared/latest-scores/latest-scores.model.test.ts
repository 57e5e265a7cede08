import { expect } from 'chai';
import fc from 'fast-check';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import type { LatestPrediction } from '../../../shared/store/calls/lead-lookup.js';
import { freshDatabases } from '../../support/service/servers.js';
import { LatestRig, type Rows } from './latest-rig.js';

const leads = ['A', 'B', 'C'];
const startMs = Date.UTC(2026, 1, 10);

interface LookUp {
  readonly epoch: string;
  readonly crmIds: readonly string[];
  readonly found: readonly LatestPrediction[];
}

/** Calls, look-ups, erasures and losses. The steps of each may interleave with those of the others. */
class Story {
  readonly begun: string[] = [];
  readonly recorded: string[] = [];
  readonly settled = new Set<string>();
  readonly lookUps: LookUp[] = [];
  private readonly erasures: { readonly crmId: string; readonly atMs: number }[] = [];
  private readonly newCallId = callIdGenerator();
  private nowMs = startMs;

  constructor(readonly rig: LatestRig) {}

  async begin(): Promise<void> {
    this.nowMs += 1;
    const callId = this.newCallId(this.nowMs);
    await this.rig.begin(callId);
    this.begun.push(callId);
  }

  async record(rows: Rows, which: number): Promise<void> {
    const [callId] = this.begun.splice(which % Math.max(1, this.begun.length), 1);
    if (callId === undefined) return;
    await this.rig.record(callId, rows);
    this.recorded.push(callId);
  }

  async settle(which: number): Promise<void> {
    const callId = this.recorded[which % Math.max(1, this.recorded.length)];
    if (callId === undefined) return;
    await this.rig.settle(callId);
    this.settled.add(callId);
  }

  async beginLookUp(): Promise<void> {
    const { epoch, scores } = await this.rig.read(...leads);
    const crmIds = leads.filter((_, place) => scores[place] === undefined);
    this.lookUps.push({ epoch, crmIds, found: this.rig.lookUp(crmIds) });
  }

  async endLookUp(which: number): Promise<void> {
    const [lookUp] = this.lookUps.splice(which % Math.max(1, this.lookUps.length), 1);
    if (lookUp !== undefined) await this.rig.fill(lookUp.epoch, lookUp.crmIds, lookUp.found);
  }

  async erase(crmId: string): Promise<void> {
    await this.rig.erase(crmId, this.nowMs);
    this.erasures.push({ crmId, atMs: this.nowMs });
    this.nowMs += 1;
  }

  async eraseAgain(which: number): Promise<void> {
    const [erased] = this.erasures.splice(which % Math.max(1, this.erasures.length), 1);
    if (erased !== undefined) await this.rig.eraseAgain(erased.crmId, erased.atMs);
  }

  /** Every entry in Redis is a prediction that exists, and is not older than any settled call. */
  async check(): Promise<void> {
    const { scores } = await this.rig.read(...leads);
    for (const [place, crmId] of leads.entries()) {
      const known = scores[place];
      if (known === undefined) continue;
      const own = this.rig.predictions.filter((each) => each.crmId === crmId);
      const ofSettled = own.filter(({ id }) => this.settled.has(id.slice(0, 26))).map(({ id }) => id);
      const minId = ofSettled.sort().at(-1);
      if (known === null) expect(minId, `${crmId} has none`).to.equal(undefined);
      else {
        expect(own.map(({ id, score }) => ({ id, score }))).to.deep.include(known);
        expect(known.id >= (minId ?? ''), `${crmId}: ${known.id} and ${minId}`).to.equal(true);
      }
    }
  }
}

const lead = fc.constantFrom(...leads);
const rows = fc.array(fc.tuple(fc.option(lead), fc.integer({ min: 0, max: 100 })), {
  minLength: 1,
  maxLength: 4,
});
type Step = readonly [name: string, take: (story: Story) => Promise<void>];
const step = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>(['begin', (story) => story.begin()]) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(rows, fc.nat(5))
      .map(([of, which]): Step => [`record ${which} ${JSON.stringify(of)}`, (story) => story.record(of, which)]),
  },
  {
    weight: 4,
    arbitrary: fc.nat(20).map((which): Step => [`settle ${which}`, (story) => story.settle(which)]),
  },
  { weight: 3, arbitrary: fc.constant<Step>(['begin look-up', (story) => story.beginLookUp()]) },
  {
    weight: 3,
    arbitrary: fc.nat(5).map((which): Step => [`end look-up ${which}`, (story) => story.endLookUp(which)]),
  },
  { weight: 1, arbitrary: lead.map((crmId): Step => [`erase ${crmId}`, (story) => story.erase(crmId)]) },
  {
    weight: 1,
    arbitrary: fc.nat(5).map((which): Step => [`erase again ${which}`, (story) => story.eraseAgain(which)]),
  },
  { weight: 1, arbitrary: fc.constant<Step>(['forget', (story) => story.rig.forget()]) },
  { weight: 1, arbitrary: fc.constant<Step>(['restart', (story) => story.rig.restart()]) },
);

describe('LatestScores against a model', () => {
  it('never has an entry older than a settled call, or of an erased prediction', async function () {
    this.timeout(60_000);
    const { redisUrl } = await freshDatabases();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const rig = new LatestRig(redisUrl);
        try {
          const story = new Story(rig);
          for (const [, take] of steps) {
            await take(story);
            await story.check();
          }
        } finally {
          rig.close();
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
