import { expect } from 'chai';
import fc from 'fast-check';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import type { Cell } from '../../../shared/messages/cells.js';
import {
  type ChunkPart,
  type ExplainedRows,
  type FieldReadings,
  type PartReply,
  type RefusedPart,
  readingKinds,
  type ScoredPart,
} from '../../../shared/messages/score-job.js';
import { ModelRegistry } from '../../../worker/models/model-registry.js';
import { beginChunk } from '../../../worker/scoring/score-chunk.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

/** `visits` has no rule for missing values: the linear model then returns NaN. */
const features: readonly Feature[] = [
  { field: 'company_size', label: 'Company size', type: 'number', columns: [0], impute: 0, required: true },
  { field: 'visits', label: 'Visits', type: 'number', columns: [1] },
  { field: 'updated', label: 'Updated', type: 'date', columns: [2], impute: 0 },
  { field: 'tags', label: 'Tags', type: 'multi', categories: ['a', 'b'], columns: [3, 4] },
];
const recency = { field: 'updated', max_age_days: 30 };
const now = Date.UTC(2026, 0, 31);
const mebibyte = 1024 * 1024;

type Row = readonly Cell[];

/** A record of the tests: its cells and, if its lead is known, the stored cells of that lead. */
interface Sent {
  readonly cells: Row;
  readonly stored?: Row | undefined;
}

describe('a tolerant part', () => {
  const bundle = sampleBundle({ features, weights: [0.01, 0.5, 0.001, 1, -1], intercept: -0.5, manifest: { recency } });
  const { manifest, onnx } = checkBundle(bundle);
  const registry = new ModelRegistry(
    {
      loadModel: async () => ({ manifest, onnx }),
      loadBundle: async () => ({ manifest, onnx }),
      loadManifest: async () => manifest,
    },
    mebibyte,
  );
  after(() => registry.close());

  const partOf = (rows: readonly Sent[], more: Partial<ChunkPart> = {}): ChunkPart => ({
    now,
    explain: true,
    firstRow: 0,
    crmIds: rows.map(({ stored }, index) => (stored === undefined ? null : `lead ${(more.firstRow ?? 0) + index}`)),
    rows: rows.map(({ cells }) => [...cells]),
    ...more,
  });

  /** Scores one chunk; `known` are the stored cells of leads by crm_id. */
  async function score(parts: readonly ChunkPart[], known: ReadonlyMap<string, Row> = new Map()) {
    const idOf = (crmId: string) => `id of ${crmId}`;
    const scoring = {
      registry,
      retentionDays: 760,
      lookupTimeoutMs: 1_000,
      latest: { read: async () => ({ epoch: 'e', leads: [] }) },
      predictions: {
        latest: async () =>
          new Map([...known.keys()].map((id) => [id, { latestId: idOf(id), own: { id: idOf(id), score: 7 } }])),
        latestOwn: async () => new Map(),
        storedRecords: async () =>
          new Map(
            [...known].map(([id, cells]) => {
              const fields = JSON.stringify(cells);
              return [
                idOf(id),
                { model: 'mdl', version: '1', fields: fields.length > 20 * mebibyte ? undefined : fields },
              ];
            }),
          ),
      },
    };
    const head = { chunk: 'chunk', partition: 0, gateway: 'gw', organisation: 'org', model: 'mdl', version: '1' };
    const { parts: replies } = await beginChunk({ ...head, parts }, scoring)();
    return replies as readonly [PartReply, ...PartReply[]];
  }

  const knownLeads = (rows: readonly Sent[], firstRow = 0): ReadonlyMap<string, Row> =>
    new Map(rows.flatMap(({ stored }, index) => (stored === undefined ? [] : [[`lead ${firstRow + index}`, stored]])));

  /** One reply from the replies to the same records, each sent alone in a strict part. */
  function joined(alone: readonly PartReply[]): ScoredPart {
    const scored = alone.filter((reply): reply is ScoredPart => 'scores' in reply);
    const refused = alone.filter((reply): reply is RefusedPart => 'problems' in reply);
    const [first] = scored;
    return {
      scores: scored.flatMap(({ scores }) => scores),
      likelihoods: scored.flatMap(({ likelihoods }) => likelihoods),
      matched: scored.flatMap(({ matched }) => matched),
      previous: scored.flatMap(({ previous }) => previous),
      warnings: scored.flatMap(({ warnings }, row) => warnings.map(([, text]) => [row, text] as const)),
      filled: scored.flatMap(({ filled }, row) => filled.map(([, text]) => [row, text] as const)),
      readings: joinedReadings(scored.map(({ readings }) => readings)),
      ...(first?.explained && { explained: joinedDrivers(first.explained, scored) }),
      ...(refused.length > 0 && { refused: refused.flatMap(({ problems }) => problems.slice(0, 1)) }),
    };
  }

  function joinedReadings(readings: readonly FieldReadings[]): FieldReadings {
    const counts = new Map<number, [number, number, number]>();
    const values = new Map<string, [number, number, string, number]>();
    for (const { counts: triples, values: ofOne } of readings) {
      for (let at = 0; at < triples.length; at += 3) {
        const [slot = 0, kind = 0, records = 0] = triples.slice(at, at + 3);
        const key = slot * readingKinds.length + kind;
        counts.set(key, [slot, kind, records + (counts.get(key)?.[2] ?? 0)]);
      }
      for (const [slot, kind, value, records] of ofOne) {
        const key = `${slot} ${kind} ${value}`;
        values.set(key, [slot, kind, value, records + (values.get(key)?.[3] ?? 0)]);
      }
    }
    const bySlot = new Map([...values.values()].map(([slot, kind]) => [`${slot} ${kind}`, [slot, kind]]));
    return {
      counts: [...counts].sort(([one], [other]) => one - other).flatMap(([, triple]) => triple),
      values: [...bySlot.values()].flatMap(([slot, kind]) =>
        [...values.values()].filter((value) => value[0] === slot && value[1] === kind),
      ),
    };
  }

  function joinedDrivers(first: ExplainedRows, scored: readonly ScoredPart[]): ExplainedRows {
    const unseen = scored.flatMap(({ explained }, row) =>
      (explained?.unseen ?? []).map(([, field]) => [row, field] as const),
    );
    return {
      ...{ method: first.method, fields: first.fields },
      drivers: scored.flatMap(({ explained }) => explained?.drivers ?? []),
      ...(unseen.length > 0 && { unseen }),
    };
  }

  /** A part alone has neither epoch nor gaps when its record has no lead. */
  const withoutEpoch = ({ epoch: _, gaps: __, ...reply }: ScoredPart): ScoredPart => reply;

  it('has the scores that its accepted records get alone, and the first problems that the others get alone', async () => {
    const scalar = fc.constantFrom<Cell>(undefined, [], 3, 120, 'many', 'n/a', {}, { overflow: true }, [[]], [1, 2]);
    const date = fc.constantFrom<Cell>(undefined, '2026-01-30', '2020-01-01', 'never');
    const tags = fc.constantFrom<Cell>(undefined, 'a', ['a', 'b'], ['a', 'zz'], 'x'.repeat(80), {});
    const good = fc.tuple(fc.integer({ max: 200 }), fc.integer({ max: 9 }), date, tags);
    const cells: fc.Arbitrary<Row> = fc.oneof(good, fc.tuple(scalar, scalar, date, tags));
    const sent: fc.Arbitrary<Sent> = fc.record({ cells, stored: fc.option(cells, { nil: undefined }) });
    await fc.assert(
      fc.asyncProperty(fc.array(sent, { minLength: 1, maxLength: 40 }), fc.nat(1_000), async (rows, firstRow) => {
        const [tolerant, next] = await score(
          [partOf(rows, { firstRow, tolerant: true }), partOf([{ cells: [5, 1] }])],
          knownLeads(rows, firstRow),
        );
        const alone: PartReply[] = [];
        for (const [index, row] of rows.entries()) {
          const own = { firstRow: firstRow + index };
          alone.push((await score([partOf([row], own)], knownLeads([row], own.firstRow)))[0]);
        }
        expect(withoutEpoch(tolerant as ScoredPart)).to.deep.equal(joined(alone));
        const [nextAlone] = await score([partOf([{ cells: [5, 1] }])]);
        expect(next)
          .to.have.property('scores')
          .and.deep.equal((nextAlone as ScoredPart).scores);
      }),
      { numRuns: 60 },
    );
  }).timeout(60_000);

  it('names all of its refused records, not only five', async () => {
    const rows = Array.from({ length: 250 }, (_, index): Sent => ({ cells: index % 2 === 0 ? [{}, 1] : [5, 1] }));
    const [reply] = (await score([partOf(rows, { firstRow: 750, tolerant: true })])) as [ScoredPart];
    expect(reply.refused?.map(({ record }) => record)).to.deep.equal(
      Array.from({ length: 125 }, (_, index) => 750 + 2 * index),
    );
    expect(reply.scores).to.have.length(125);
  });

  for (const [why, cells] of [
    ['cannot be read', [{}, 1]],
    ['have no probability', [5, undefined]],
  ] as const)
    it(`has no scores and no drivers when all of its records ${why}`, async () => {
      const [reply, next] = await score([
        partOf([{ cells }, { cells }], { tolerant: true }),
        partOf([{ cells: [5, 1] }], { explain: false }),
      ]);
      expect(reply).to.include.keys('refused').and.not.have.property('explained');
      expect((reply as ScoredPart).scores).to.deep.equal([]);
      expect(next).to.have.property('scores').with.length(1);
    });

  it('has the gaps of its accepted records, with stored fields filled in', async () => {
    const rows: readonly Sent[] = [
      { cells: [5, 1] },
      { cells: [{}, 1], stored: [5, 1, undefined, 'a'] },
      { cells: [5, 1], stored: [7, 2, undefined, 'a'] },
      { cells: [5, undefined, '2026-01-30', 'a'] },
      { cells: [5, 1, '2026-01-30', 'b'], stored: [7, 2] },
    ];
    const [reply] = (await score([partOf(rows, { tolerant: true })], knownLeads(rows))) as [ScoredPart];
    expect(reply.refused?.map(({ record }) => record)).to.deep.equal([1, 3]);
    expect(reply.gaps).to.deep.equal([0b1100, 0b0100, 0]);
  });

  it('names no refused records when there are none', async () => {
    const [reply] = await score([partOf([{ cells: [5, 1] }], { tolerant: true })]);
    expect(reply).to.have.property('scores').with.length(1);
    expect(reply).to.not.have.property('refused');
  });

  it('refuses the records alone whose stored fields exceed 4 MiB together, or cannot be read', async () => {
    const long = (bytes: number): Row => [5, 1, undefined, Array.from({ length: bytes / 16 }, () => 'x'.repeat(13))];
    const lacking: Row = [5, 1, '2026-01-30'];
    const rows: readonly Sent[] = [
      { cells: lacking, stored: long(3 * mebibyte) },
      { cells: lacking, stored: long(2 * mebibyte) },
      { cells: [5, 1, '2026-01-30', 'a'], stored: long(2 * mebibyte) },
      { cells: lacking, stored: long(21 * mebibyte) },
      { cells: lacking, stored: [5, 1, undefined, 'b'] },
      { cells: lacking, stored: long(mebibyte / 2) },
    ];
    const [reply] = (await score([partOf(rows, { tolerant: true, explain: false })], knownLeads(rows))) as [ScoredPart];
    expect(reply.refused?.map(({ record, field }) => [record, field])).to.deep.equal([
      [1, 'tags'],
      [3, ''],
    ]);
    expect(reply.scores).to.have.length(4);
    expect(reply.filled.map(([row]) => row)).to.deep.equal([0, 2, 3]);
    expect(reply.matched).to.deep.equal([1, 1, 1, 1]);
  });
});
