import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import type { Cell } from '../../../shared/messages/cells.js';
import type { ChunkPart, ChunkPayload } from '../../../shared/messages/score-job.js';
import { ModelRegistry } from '../../../worker/models/model-registry.js';
import { beginChunk } from '../../../worker/scoring/score-chunk.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';

/** Neither has a rule for missing values: a linear model then returns NaN. */
const features: readonly Feature[] = [
  { field: 'company_size', label: 'Company size', type: 'number', columns: [0] },
  { field: 'visits', label: 'Visits', type: 'number', columns: [1] },
];

const part = (firstRow: number, rows: readonly (readonly Cell[])[]): ChunkPart => ({
  now: 0,
  explain: false,
  firstRow,
  crmIds: rows.map(() => null),
  rows,
});

/** Neither is read for records without a crm_id. */
const latest = { read: () => expect.fail('Redis was read') };
const predictions = {
  latest: () => expect.fail('leads were read'),
  latestOwn: () => expect.fail('own scores were read'),
  storedRecords: () => expect.fail('fields were read'),
};

describe('scoring a chunk', () => {
  const { manifest, onnx } = checkBundle(sampleBundle({ features, weights: [0.01, 1], intercept: -0.5 }));
  const registry = new ModelRegistry(
    {
      loadModel: async () => ({ manifest, onnx }),
      loadBundle: async () => ({ manifest, onnx }),
      loadManifest: async () => manifest,
    },
    1,
  );
  after(() => registry.close());

  const score = (parts: readonly ChunkPart[]) => {
    const head = { chunk: 'chunk', partition: 0, gateway: 'gw', organisation: 'org', model: 'mdl', version: '1' };
    const chunk: ChunkPayload = { ...head, parts };
    return beginChunk(chunk, { registry, latest, predictions, lookupTimeoutMs: 1, retentionDays: 760 })();
  };

  it('refuses only the call with a record for which the model returns NaN, and names its index in the call', async () => {
    const { parts } = await score([
      part(0, [
        [120, 1],
        [5, 0],
      ]),
      part(250, [[120, 1], [undefined, 1], [5]]),
      part(0, [[5, 0]]),
    ]);
    const [first, refused, last] = parts;
    expect(first).to.have.property('scores').with.length(2);
    expect(refused).to.have.property('problemCount', 1);
    expect(refused).to.have.nested.include({ 'problems[0].record': 251, 'problems[0].came': 'NaN' });
    expect(last).to.have.property('scores').with.length(1);
    expect(last).to.have.nested.property(
      'likelihoods[0]',
      (first as { readonly likelihoods: readonly number[] }).likelihoods[1],
    );
  });

  it('names five unreadable records by their index in the call, and counts all of them', async () => {
    const nested: Cell = {};
    const rows: readonly (readonly Cell[])[] = [[1, 1], ...Array.from({ length: 7 }, () => [nested, 1])];
    const { parts } = await score([part(500, rows), part(0, [[5, 0]])]);
    expect(parts[0]).to.have.property('problemCount', 7);
    const { problems } = parts[0] as { readonly problems: readonly { readonly record: number }[] };
    expect(problems.map(({ record }) => record)).to.deep.equal([501, 502, 503, 504, 505]);
    expect(parts[1]).to.have.property('scores').with.length(1);
  });
});
