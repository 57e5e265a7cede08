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

/** Calls, look-ups, erasures and losses, each in its steps, which may come between each other's. */
class Story {
  readonly begun: string[] = [];
  readonly settled = new Set<string>();
  readonly lookUps: LookUp[] = [];
  private readonly erasures: { readonly crmId: string; readonly atMs: number }[] = [];
  private readonly newCallId = callIdGenerator();
  private nowMs = startMs;

  constructor(readonly rig: LatestRig) {}

  async record(rows: Rows): Promise<void> {
    this.nowMs += 1;
    const callId = this.newCallId(this.nowMs);
    await this.rig.record(callId, rows);
    this.begun.push(callId);
  }

  async settle(which: number): Promise<void> {
    const callId = this.begun[which % Math.max(1, this.begun.length)];
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

  async forgetLead(which: number): Promise<void> {
    const [erased] = this.erasures.splice(which % Math.max(1, this.erasures.length), 1);
    if (erased !== undefined) await this.rig.forgetLead(erased.crmId, erased.atMs);
  }

  /** What Redis claims to know: a prediction that exists, and no older one than any call that was settled. */
  async check(): Promise<void> {
    const { scores } = await this.rig.read(...leads);
    for (const [place, crmId] of leads.entries()) {
      const known = scores[place];
      if (known === undefined) continue;
      const own = this.rig.predictions.filter((each) => each.crmId === crmId);
      const ofSettled = own.filter(({ id }) => this.settled.has(id.slice(0, 26))).map(({ id }) => id);
      const least = ofSettled.sort().at(-1);
      if (known === null) expect(least, `${crmId} has none`).to.equal(undefined);
      else {
        expect(own.map(({ id, score }) => ({ id, score }))).to.deep.include(known);
        expect(known.id >= (least ?? ''), `${crmId}: ${known.id} and ${least}`).to.equal(true);
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
  { weight: 4, arbitrary: rows.map((of): Step => ['record', (story) => story.record(of)]) },
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
    arbitrary: fc.nat(5).map((which): Step => [`forget lead ${which}`, (story) => story.forgetLead(which)]),
  },
  { weight: 1, arbitrary: fc.constant<Step>(['forget', (story) => story.rig.forget()]) },
  { weight: 1, arbitrary: fc.constant<Step>(['restart', (story) => story.rig.restart()]) },
);

describe('newest scores against their truth', () => {
  it('are never older than a settled call, and never those of an erased lead', async function () {
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
      { numRuns: 500 },
    );
  });
});
