import { expect } from 'chai';
import type { LatestUnderModel } from '../../../shared/latest-scores/latest-scores.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import type { ChunkPayload } from '../../../shared/messages/score-job.js';
import type { LatestPrediction, StoredRecord } from '../../../shared/store/calls/lead-lookup.js';
import { findKnownLeads, type LookupDeps, requestLatestScores } from '../../../worker/scoring/lead-lookup.js';

const chunk = {
  organisation: 'org',
  model: 'own',
  version: '2',
  otherModels: ['other'],
  parts: [{ crmIds: ['L-1', null, 'L-2', 'L-1'] }],
} as unknown as ChunkPayload;

interface World {
  /** The scores of L-1 and L-2 in Redis, under each model; Redis does not answer when left out. */
  readonly noted?: readonly LatestUnderModel[];
  /** The predictions in MongoDB, by model. */
  readonly latest?: Readonly<Record<string, readonly LatestPrediction[]>>;
  readonly stored?: Readonly<Record<string, StoredRecord>>;
  readonly keptFromId?: string;
}

/** Looks the leads of the chunk up, with all their fields. */
async function lookedUp({ noted, latest = {}, stored = {}, keptFromId = '' }: World) {
  const asked: string[] = [];
  const filled: string[] = [];
  const deps = {
    latest: { fill: async ({ modelId }: { readonly modelId: string }) => void filled.push(modelId) },
    predictions: {
      latest: async ({ modelId, crmIds }: { readonly modelId: string; readonly crmIds: readonly string[] }) => {
        asked.push(`${modelId}: ${crmIds.join(' ')}`);
        return latest[modelId] ?? [];
      },
      storedRecords: async (ids: readonly string[]) =>
        new Map(ids.flatMap((id) => (stored[id] === undefined ? [] : [[id, stored[id]] as const]))),
    },
    fieldsOf: async (modelId: string, version: string) =>
      ({ slotNames: [`of ${modelId} ${version}`, 'size'] }) as unknown as KnownFields,
    timeoutMs: 1_000,
    keptFromId,
  } as unknown as LookupDeps;
  const read = async () => {
    if (noted === undefined) throw new Error('Redis is away');
    return [...noted];
  };
  const found = await findKnownLeads(chunk, requestLatestScores(chunk, { read }), new Set(['L-1', 'L-2']), deps);
  return { ...found, asked, filled };
}

const noted = (modelId: string, scores: LatestUnderModel['scores']): LatestUnderModel => ({
  modelId,
  epoch: `epoch of ${modelId}`,
  scores,
});

describe('the lookup of the leads of a chunk', () => {
  it('asks MongoDB only for the scores that Redis does not have', async () => {
    const { byCrmId, epoch, asked, filled } = await lookedUp({
      noted: [
        noted('own', [{ id: 'call-3.0000', score: 70 }, undefined]),
        noted('other', [{ id: 'call-1.0000', score: 10 }, null]),
      ],
      latest: { own: [{ crmId: 'L-2', id: 'call-2.0000', score: 20 }] },
    });
    expect(asked).to.deep.equal(['own: L-2']);
    expect(filled).to.deep.equal(['own']);
    expect(epoch).to.equal('epoch of own');
    expect(byCrmId.get('L-1')).to.deep.include({ previousScore: 70, latestId: 'call-3.0000' });
    expect(byCrmId.get('L-2')).to.deep.include({ previousScore: 20, latestId: 'call-2.0000' });
  });

  it('asks MongoDB when Redis does not answer, and does not fill Redis then', async () => {
    const { byCrmId, epoch, filled } = await lookedUp({
      latest: { other: [{ crmId: 'L-1', id: 'call-1.0000', score: 10 }] },
    });
    expect([...byCrmId.keys()]).to.deep.equal(['L-1']);
    expect(byCrmId.get('L-1')).to.deep.include({ previousScore: null, latestId: 'call-1.0000' });
    expect([epoch, filled]).to.deep.equal(['', []]);
  });

  it('returns the fields of the latest prediction, by slot for the same version and by name for another', async () => {
    const latest = (id: string) => ({ id, score: 50 });
    const { byCrmId } = await lookedUp({
      noted: [
        noted('own', [latest('call-1.0000'), latest('call-3.0000')]),
        noted('other', [latest('call-2.0000'), null]),
      ],
      stored: {
        'call-2.0000': { version: '2', fields: '["x",5]' },
        'call-3.0000': { version: '1', fields: '["y",6]' },
      },
    });
    expect(byCrmId.get('L-1')?.stored?.read()).to.deep.equal({
      names: ['of other 2', 'size'],
      cells: ['x', 5],
    });
    expect(byCrmId.get('L-2')?.stored?.read()).to.deep.equal({
      names: ['of own 1', 'size'],
      cells: ['y', 6],
    });
    const own = await lookedUp({
      noted: [noted('own', [latest('call-1.0000'), null]), noted('other', [null, null])],
      stored: { 'call-1.0000': { version: '2', fields: '["z",7]' } },
    });
    expect(own.byCrmId.get('L-1')?.stored?.read()).to.deep.equal({ slots: ['z', 7] });
  });

  it('ignores predictions past retention', async () => {
    const { byCrmId } = await lookedUp({
      noted: [
        noted('own', [
          { id: 'call-2.0000', score: 70 },
          { id: 'call-1.0000', score: 20 },
        ]),
        noted('other', [{ id: 'call-6.0000', score: 10 }, null]),
      ],
      keptFromId: 'call-5',
    });
    expect(byCrmId.get('L-1')).to.deep.include({ previousScore: null, latestId: 'call-6.0000' });
    expect(byCrmId.has('L-2')).to.equal(false);
  });
});
