import { expect } from 'chai';
import type { Manifest } from '../../../shared/bundle/manifest/manifest.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type { Model } from '../../../shared/store/models/models.js';
import { rawCall } from '../../support/http/raw-connection.js';
import { refused, scoredRow } from '../../support/http/score-reply.js';
import {
  callOf,
  demoBundleWith,
  type ExpectedReading,
  type FieldAliases,
  readToolFixtures,
  type ToolFixture,
} from '../../support/http/tool-fixture.js';
import { scoredWebhook } from '../../support/http/webhook-answer.js';
import { demoBundleDirectory, readGoldenBundle } from '../../support/models/golden-records.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

describe('recorded requests of tools to POST /v1/webhooks/score', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let models: Map<FieldAliases | undefined, Model>;
  const fixtures = readToolFixtures();

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
    own = await workspace(service);
    const needed = new Set(fixtures.map(({ fixture }) => fixture.aliases));
    models = new Map();
    for (const aliases of needed)
      models.set(aliases, await own.addModel({ bundle: await demoBundleWith(aliases ?? {}) }));
  });

  const modelOf = ({ aliases }: ToolFixture): Model => {
    const model = models.get(aliases);
    if (model === undefined) throw new Error('the fixture has no model');
    return model;
  };

  for (const { name, fixture } of fixtures) {
    it(`scores or refuses ${name} as expected: ${fixture.what}`, async () => {
      const model = modelOf(fixture);
      const call = callOf(fixture, { modelId: model._id, secret: own.live.secret });
      const before = await own.ledgerSum();
      const reply = await rawCall(service.url(), { ...call, path: withReport(call.path) });
      const { expected } = fixture;
      if ('refused' in expected) {
        expect(refused(reply, expected.refused).error.message).to.include(expected.message);
        expect(await own.ledgerSum()).to.equal(before);
        return;
      }
      const answer = scoredWebhook(reply);
      expect(answer).to.include({ model_id: model._id, crm_id: expected.crm_id, enriched: false });
      expect(await fieldsScored(own)).to.deep.equal(expected.fields);
      expect(answer.input).to.deep.include({ unread: [], unseen: [], did_you_mean: {}, ...expected.input });
      expect(answer).to.include(await batchAnswer(own, model, expected));
      expect(answer.outputFields !== undefined).to.equal(expected.outputFields === true);
      expect(await own.ledgerSum()).to.equal(before + 2); // includes the batch call for comparison
    });
  }

  it('recognises every lead again under POST /webhooks/score, and returns probability', async () => {
    for (const { fixture } of fixtures) {
      if ('refused' in fixture.expected) continue;
      const call = callOf(fixture, { modelId: modelOf(fixture)._id, secret: own.live.secret });
      const path = call.path.replace('/v1', '');
      // A new callbackId: under the same one the reply would be a replay.
      const body = String(call.body).replace('"ap-', '"ap-again-');
      const { status, text } = await rawCall(service.url(), { ...call, path, body });
      expect(status, text).to.equal(200);
      const answer = JSON.parse(text) as Record<string, unknown>;
      expect(answer)
        .to.include({ enriched: true, crm_id: fixture.expected.crm_id })
        .and.to.have.property('probability');
    }
  });
});

const withReport = (path: string): string => `${path}${path.includes('?') ? '&' : '?'}input_report=records`;

/** The sent fields of the newest prediction, by name. */
async function fieldsScored(own: TestWorkspace): Promise<Record<string, unknown>> {
  const { manifest } = readGoldenBundle(demoBundleDirectory());
  const { slotNames } = compileKnownFields(manifest satisfies Manifest);
  const cells = JSON.parse((await own.predictions()).at(-1)?.fields ?? '[]') as unknown[];
  const sent = slotNames.map((name, slot): [string, unknown] => [name, cells[slot]]);
  return Object.fromEntries(sent.filter(([, cell]) => cell !== null));
}

/** The score of a batch call with the same fields under their own names. */
async function batchAnswer(own: TestWorkspace, model: Model, { fields }: ExpectedReading): Promise<object> {
  const record = Object.entries(fields).map(([name, cell]): [string, unknown] => [
    name,
    isSentNull(cell) ? null : cell,
  ]);
  const { score } = scoredRow(await own.score([Object.fromEntries(record)], { modelId: model._id }));
  return { score };
}

const isSentNull = (cell: unknown): boolean => Array.isArray(cell) && cell.length === 0;
