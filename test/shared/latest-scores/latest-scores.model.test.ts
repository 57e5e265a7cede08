import { expect } from 'chai';
import fc from 'fast-check';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { freshDatabases } from '../../support/service/servers.js';
import { runsOfTier } from '../../support/tier.js';
import { expectTurns, mixedScripts, type ScriptRuns } from '../../upgrade/mixed-scripts.js';
import { LatestRig, type Prediction, type Rows } from './latest-rig.js';

const leads = ['A', 'B'];
/** More models than a lead has items for. */
const models = ['mdl_1', 'mdl_2', 'mdl_3', 'mdl_4'];
const versions = ['1', '2'];
const startMs = Date.UTC(2026, 1, 10);

interface Call {
  readonly id: string;
  readonly modelId: string;
  readonly version: string;
  readonly rows: Rows;
}

/** Calls, look-ups, erasures and losses. The steps of each may interleave with those of the others. */
class Story {
  private readonly arrived: Call[] = [];
  private readonly lookedUp: Call[] = [];
  private recorded: Call[] = [];
  /** Calls whose scores were noted, or whose organisation's hash the sweep has dropped. The settle comes later. */
  private readonly settling: { readonly call: Call; readonly isNoted: boolean; readonly isSwept: boolean }[] = [];
  private readonly settled = new Set<string>();
  private readonly voided: Call[] = [];
  /** Ids of recorded calls that were released before anything of them was noted. */
  private readonly released = new Set<string>();
  private readonly erasures: { readonly crmId: string; readonly atMs: number }[] = [];
  /** Two gateways. The clock of one is ahead. */
  private readonly gateways = [callIdGenerator(), callIdGenerator()];
  private nowMs = startMs;

  constructor(readonly rig: LatestRig) {}

  async arrive({ modelId, version }: Pick<Call, 'modelId' | 'version'>, rows: Rows, gateway: number): Promise<void> {
    this.nowMs += 1;
    const id = this.gateways[gateway]?.(this.nowMs + 3 * gateway, this.rig.organisationId) ?? '';
    this.arrived.push({ id, modelId, version, rows });
  }

  async lookUp(which: number): Promise<void> {
    const call = taken(this.arrived, which);
    if (call === undefined) return;
    this.rig.version = call.version;
    const seen = await this.rig.lookUp(call.id, call.rows, call.modelId);
    for (const [crmId] of call.rows) {
      if (crmId === null) continue;
      this.checkLatest(crmId, seen.get(crmId)?.latestId);
      this.checkOwn(crmId, call.modelId, seen.get(crmId)?.own?.score);
    }
    this.lookedUp.push(call);
  }

  async record(which: number): Promise<void> {
    const call = taken(this.lookedUp, which);
    if (call === undefined) return;
    await this.rig.record(call.id, call.rows, call.modelId);
    this.recorded.push(call);
  }

  /** The first of the two commands that settle a call, maybe for the second time. */
  async note(which: number): Promise<void> {
    const call = chosenOf(this.recorded, which);
    if (call === undefined) return;
    this.settling.push({ call, isNoted: await this.rig.note(call.id), isSwept: false });
  }

  /** The sweep drops the hash before it settles a call without its scores. */
  async sweep(which: number): Promise<void> {
    const call = chosenOf(this.recorded, which);
    if (call === undefined) return;
    await this.rig.forget();
    this.settling.push({ call, isNoted: true, isSwept: true });
  }

  /** The second of the two commands. A gateway sends both again when the counter was lost. */
  async settle(which: number): Promise<void> {
    const first = taken(this.settling, which);
    if (first === undefined) return;
    const { call, isSwept } = first;
    let { isNoted } = first;
    let isSettled = await this.rig.settleRecords(call.id);
    if (isSettled === undefined && !isSwept) {
      await this.rig.quota.quota.usage(this.rig.counter);
      isNoted = await this.rig.note(call.id);
      isSettled = await this.rig.settleRecords(call.id);
    }
    if (isSettled !== true) return;
    if (!isNoted) await this.rig.forget();
    this.released.delete(call.id);
    this.settled.add(call.id);
  }

  /** A sweep releases a call whose row it does not find. The row comes later, and its gateway then voids it. */
  async releaseEarly(which: number): Promise<void> {
    const call = chosenOf(this.recorded, which);
    if (call === undefined || this.settled.has(call.id) || this.settling.some((each) => each.call === call)) return;
    await this.rig.quota.quota.release(this.rig.counter, call.id);
    this.released.add(call.id);
  }

  async voidCall(which: number): Promise<void> {
    const call = chosenOf(this.recorded, which);
    if (call === undefined) return;
    this.settled.delete(call.id);
    this.recorded = this.recorded.filter((each) => each !== call);
    await this.rig.voidCall(call.id);
    this.voided.push(call);
  }

  /** A note of a voided call that was under way all the time. */
  async noteLate(which: number): Promise<void> {
    const call = chosenOf(this.voided, which);
    if (call !== undefined) await this.rig.note(call.id);
  }

  /** The last step of a void. */
  async release(which: number): Promise<void> {
    const call = chosenOf(this.voided, which);
    if (call !== undefined) await this.rig.quota.quota.release(this.rig.counter, call.id);
  }

  async erase(crmId: string): Promise<void> {
    await this.rig.erase(crmId);
    this.erasures.push({ crmId, atMs: this.nowMs });
    this.nowMs += 1;
  }

  async eraseAgain(which: number): Promise<void> {
    const erased = taken(this.erasures, which);
    if (erased !== undefined) await this.rig.eraseAgain(erased.crmId, erased.atMs);
  }

  /** Every item in Redis is a prediction that exists, not older than any settled call. Gaps are those of the latest. */
  async check(): Promise<void> {
    for (const version of versions) {
      this.rig.version = version;
      await this.checkUnder(version);
    }
  }

  private async checkUnder(version: string): Promise<void> {
    const reads = await Promise.all(models.map((modelId) => this.rig.readWithGaps(leads, modelId)));
    for (const [index, modelId] of models.entries()) {
      const read = reads[index] ?? [];
      for (const [row, crmId] of leads.entries()) {
        const known = read[row];
        if (known === undefined) continue;
        this.checkLatest(crmId, known.latestId);
        expect(known.gaps, `gaps of ${crmId}`).to.equal(this.gapsOf(known.latestId, { modelId, version }));
        if (known.own === undefined) continue;
        const own = this.predictionsOf(crmId).filter((each) => each.modelId === modelId);
        expect([...this.released], 'not counted').not.to.include(known.own.id.slice(0, 26));
        expect(own.map(({ id, score }) => ({ id, score }))).to.deep.include(known.own);
        const minId = this.lastSettled(own);
        expect(known.own.id >= minId, `${crmId}, ${modelId}: ${known.own.id}, settled ${minId}`).to.equal(true);
      }
    }
  }

  /** The gaps of a prediction of a version. */
  private gapsOf(latestId: string, { modelId, version }: Pick<Call, 'modelId' | 'version'>): number {
    const latest = this.rig.predictions.find(({ id }) => id === latestId);
    return latest?.modelId === modelId && latest.version === version ? latest.gaps : 0;
  }

  private checkLatest(crmId: string, latestId: string | undefined): void {
    const all = this.predictionsOf(crmId);
    const minId = this.lastSettled(all);
    if (latestId !== undefined) expect(all.map(({ id }) => id)).to.include(latestId);
    expect((latestId ?? '') >= minId, `${crmId}: ${latestId}, settled ${minId}`).to.equal(true);
  }

  /** The previous score of a lead is that of the last settled call under the model, or of a later recorded one. */
  private checkOwn(crmId: string, modelId: string, score: number | undefined): void {
    const own = this.predictionsOf(crmId).filter((each) => each.modelId === modelId);
    const minId = this.lastSettled(own);
    const allowed = own.filter(({ id }) => id >= minId).map((each) => each.score);
    if (score === undefined) expect(minId, `${crmId}, ${modelId}: no previous score`).to.equal('');
    else expect(allowed, `${crmId}, ${modelId}`).to.include(score);
  }

  private predictionsOf(crmId: string): readonly Prediction[] {
    return this.rig.predictions.filter((each) => each.crmId === crmId);
  }

  private lastSettled(predictions: readonly Prediction[]): string {
    const ids = predictions.map(({ id }) => id).filter((id) => this.settled.has(id.slice(0, 26)));
    return ids.sort().at(-1) ?? '';
  }
}

const chosenOf = <Item>(items: readonly Item[], which: number): Item | undefined =>
  items[which % Math.max(1, items.length)];

function taken<Item>(items: Item[], which: number): Item | undefined {
  return items.splice(which % Math.max(1, items.length), 1)[0];
}

const lead = fc.constantFrom(...leads);
const gaps = fc.constantFrom(0, 1, 2 ** 25 - 1, 2 ** 24 + 6);
const rows = fc.array(fc.tuple(fc.option(lead), fc.integer({ min: 0, max: 100 }), gaps), {
  minLength: 1,
  maxLength: 3,
});
type Step = readonly [name: string, take: (story: Story) => Promise<void>];
const arrival = fc
  .tuple(fc.constantFrom(...models), fc.constantFrom(...versions), rows, fc.nat(1))
  .map(
    ([modelId, version, of, gateway]): Step => [
      `arrive ${modelId} ${version} ${gateway} ${JSON.stringify(of)}`,
      (story) => story.arrive({ modelId, version }, of, gateway),
    ],
  );
const chosen = (name: string, take: (story: Story, which: number) => Promise<void>) =>
  fc.nat(20).map((which): Step => [`${name} ${which}`, (story) => take(story, which)]);
const step = fc.oneof(
  { weight: 5, arbitrary: arrival },
  { weight: 5, arbitrary: chosen('look up', (story, which) => story.lookUp(which)) },
  { weight: 5, arbitrary: chosen('record', (story, which) => story.record(which)) },
  { weight: 5, arbitrary: chosen('note', (story, which) => story.note(which)) },
  { weight: 5, arbitrary: chosen('settle', (story, which) => story.settle(which)) },
  { weight: 1, arbitrary: chosen('sweep', (story, which) => story.sweep(which)) },
  { weight: 1, arbitrary: chosen('void', (story, which) => story.voidCall(which)) },
  { weight: 1, arbitrary: chosen('release early', (story, which) => story.releaseEarly(which)) },
  { weight: 1, arbitrary: chosen('note late', (story, which) => story.noteLate(which)) },
  { weight: 1, arbitrary: chosen('release', (story, which) => story.release(which)) },
  { weight: 1, arbitrary: lead.map((crmId): Step => [`erase ${crmId}`, (story) => story.erase(crmId)]) },
  { weight: 1, arbitrary: chosen('erase again', (story, which) => story.eraseAgain(which)) },
  { weight: 1, arbitrary: fc.constant<Step>(['evict', (story) => story.rig.forget()]) },
  { weight: 1, arbitrary: fc.constant<Step>(['empty', (story) => story.rig.empty()]) },
  { weight: 1, arbitrary: fc.constant<Step>(['restart', (story) => story.rig.restart()]) },
);

describe('LatestScores against a model', () => {
  async function hasNoOlderItem(numRuns: number, rigOf: () => LatestRig | Promise<LatestRig>): Promise<void> {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }),
        fc.constantFrom(1, 500_000),
        async (steps, maxFields) => {
          const rig = await rigOf();
          rig.maxFields = maxFields;
          try {
            const story = new Story(rig);
            for (const [, take] of steps) {
              await take(story);
              await story.check();
            }
          } finally {
            rig.close();
          }
        },
      ),
      { numRuns },
    );
  }

  it('never has an item older than a settled call, or of an erased prediction', async function () {
    this.timeout(400_000);
    const { redisUrl } = await freshDatabases();
    await hasNoOlderItem(runsOfTier(75, 500), () => new LatestRig(redisUrl));
  });

  it('has none either while every second script is that of the last release', async function () {
    this.timeout(400_000);
    const { redisUrl } = await freshDatabases();
    const runs: ScriptRuns = new Map();
    await hasNoOlderItem(runsOfTier(10, 200), async () => {
      const mixed = await mixedScripts(redisUrl, runs);
      return new LatestRig(redisUrl, mixed.redis);
    });
    await expectTurns(runs, 'shared/latest-scores/');
  });
});
