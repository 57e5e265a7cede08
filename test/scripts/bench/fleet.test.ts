import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { fleetBundle, heldLargeModels, largeBundle } from '../../../scripts/bench/fleet/fleet-accounts.js';
import { FleetCalls } from '../../../scripts/bench/fleet/fleet-calls.js';
import { openFleet } from '../../../scripts/bench/fleet/fleet-data.js';
import type { Window } from '../../../scripts/bench/fleet/fleet-load.js';
import { crmIdOf } from '../../../scripts/bench/fleet/fleet-predictions.js';
import { fleetGoals, fleetReport } from '../../../scripts/bench/fleet/fleet-report.js';
import { fleetSize } from '../../../scripts/bench/fleet/fleet-size.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { projectFile } from '../../../shared/process/project-root.js';
import type { CallDocument } from '../../../shared/store/calls/call-documents.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { loadBundle } from '../../../shared/store/models/model-versions.js';
import { loadedBytes } from '../../../worker/models/model-registry.js';
import { testServers } from '../../support/service/servers.js';

const bundlePath = projectFile('scripts/demo/bundle');
const silent = () => undefined;
const size = { ...fleetSize(true), organisations: 6, models: 3, activeModels: 2, otherModels: 4, hotLeads: 3 };

describe('the database of a fleet', () => {
  let client: MongoClient;
  before(async () => {
    client = new MongoClient((await testServers()).mongoUrl);
  });
  after(async () => {
    for (const predictions of [5_000, 10_000]) await client.db(`fleet_${predictions}`).dropDatabase();
    await client.close();
  });
  const open = (predictions: number, like?: Awaited<ReturnType<typeof openFleet>>) =>
    openFleet(client, { size, predictions, like, bundlePath }, silent);
  const stored = async (name: string) => {
    const documents = await client.db(name).collection<CallDocument>(callsCollection).find().toArray();
    return documents.flatMap((document) => document.scores ?? []).length;
  };

  it('holds organisations, models and predictions that the service reads, and shares the first two', async () => {
    const first = await open(5_000);
    const second = await open(10_000, first);
    expect(second.organisations).to.deep.equal(first.organisations);
    expect(first.organisations.map(({ modelIds }) => modelIds.length)).to.deep.equal([2, 2, 2, 1, 5, 0]);
    // Each group of organisations gets whole calls of 500 records.
    expect([await stored(first.name), await stored(second.name)]).to.deep.equal([6_000, 11_000]);
    const { organisationId = '', modelIds = [] } = second.organisations[0] ?? {};
    const query = { organisationId, modelId: modelIds[0] ?? '', crmIds: [crmIdOf(7), 'LEAD-none'], timeoutMs: 5_000 };
    const found = await new PredictionStore(second.database).latest(query);
    expect([...found.keys()]).to.deep.equal([crmIdOf(7)]);
    const read = await new PredictionStore(second.database).storedRecords(
      [found.get(crmIdOf(7))?.latestId ?? ''],
      5_000,
    );
    expect(JSON.parse([...read.values()][0]?.fields ?? '')).to.be.an('array');
    const { version } = (await fleetBundle(bundlePath)).manifest;
    for (const modelId of modelIds)
      expect(await loadBundle(second.database, modelId, version)).to.have.property('onnx');
  });

  it('is opened again without the calls of the earlier run, and is not generated again', async () => {
    const { name, database, organisations } = await open(5_000);
    const calls = database.collection<CallDocument>(callsCollection);
    const one = await calls.findOne({ scores: { $exists: true }, org: organisations[1]?.organisationId ?? '' });
    if (one === null) throw new Error('no prediction is stored');
    const before = await calls.countDocuments();
    await calls.insertOne({ ...one, _id: callIdGenerator()(Date.now() + 5_000, one.org) });
    const lines: string[] = [];
    await openFleet(client, { size, predictions: 5_000, like: undefined, bundlePath }, (line) => lines.push(line));
    expect([await calls.countDocuments(), lines]).to.deep.equal([before, []]);
    expect(name).to.equal('fleet_5000');
  });

  it('holds large models of which a worker process keeps as many as the report says', async () => {
    const { manifest, onnx } = await largeBundle(bundlePath);
    const perModel = loadedBytes({ manifest, onnx }, false);
    const limit = 512 * 1024 * 1024;
    expect([Math.floor(limit / perModel), perModel * heldLargeModels <= limit]).to.deep.equal([heldLargeModels, true]);
  });
});

describe('the calls of a fleet', () => {
  const organisation = {
    _id: 0,
    organisationId: 'org_1',
    keyId: 'key_1',
    secret: 'secret',
    modelIds: ['mdl_1', 'mdl_2'],
  };
  const leadsOf = (body: string): string[] =>
    (JSON.parse(body) as { records: { crm_id: string }[] }).records.map(({ crm_id }) => crm_id);

  it('repeat the hot leads, and every fifth batch has new leads only', () => {
    const calls = new FleetCalls({ organisations: [organisation], modelAt: -1, hotLeads: 500 });
    const hot = new Set([...calls.everyHotLead()].flatMap(({ body }) => leadsOf(body)));
    expect(hot.size).to.equal(500);
    const known = Array.from(
      { length: 10 },
      () => leadsOf(calls.batch().body).filter((crmId) => hot.has(crmId)).length,
    );
    expect(known).to.deep.equal([250, 250, 250, 250, 0, 250, 250, 250, 250, 0]);
    const { model_id } = JSON.parse(calls.single().body) as { model_id: string };
    expect(model_id).to.equal('mdl_2');
  });

  it('score the same known leads under each model after the other, for models in turn', () => {
    const modelIds = Array.from({ length: 5 }, (_, model) => `mdl_${model}`);
    const called = { organisations: [{ ...organisation, modelIds }], hotLeads: 250 };
    const calls = new FleetCalls({ ...called, modelAt: 1, inTurn: 3, firstLead: 250 });
    const bodies = [...calls.everyHotLead()].map(({ body }) => body);
    const hot = new Set(bodies.flatMap(leadsOf));
    expect([...hot]).to.have.members(Array.from({ length: 250 }, (_, lead) => crmIdOf(250 + lead)));
    for (let call = 0; call < 5; call += 1) bodies.push(calls.batch().body, calls.single().body);
    expect(bodies.every((body) => leadsOf(body).every((lead) => hot.has(lead)))).to.equal(true);
    const models = bodies.map((body) => (JSON.parse(body) as { model_id: string }).model_id);
    expect(models).to.deep.equal(bodies.map((_, call) => `mdl_${1 + (call % 3)}`));
  });
});

describe('the goals of a fleet', () => {
  const windowOf = (cpuMs: number): Window => ({
    records: 1_000,
    calls: 10,
    elapsedMs: 1_000,
    cpuMs: { gateway: cpuMs, workers: 0, redis: 0, mongod: 0 },
    p99Ms: { singles: 1, batches: Number.NaN },
    othersCpuMs: 0,
  });
  const row = (table: string, label: string, ...cpuMs: number[]) => ({ table, label, windows: cpuMs.map(windowOf) });
  const figures = {
    rows: [
      ...[row('gateways', '1', 100, 90, 200), row('gateways', '4', 90, 120, 110), row('gateways', '8', 116, 116, 900)],
      ...[row('cold batches', 'none', 100), row('cold batches', 'many', 109)],
    ],
    leadMemory: { leads: 10, bytes: 2_010 },
    cache: { calls: 100, loads: 5 },
  };

  it('are missed by the largest median of a table, by hits below the goal and by large leads', () => {
    const reached = fleetGoals(figures).map(({ measured, isReached }) => [Number(measured.toFixed(2)), isReached]);
    expect(reached).to.deep.equal([
      [1.09, true],
      [1.16, false],
      [0.95, true],
      [201, false],
    ]);
  });

  it('are reported as tables and as JSON without NaN', () => {
    const { text, document } = fleetReport(size, figures);
    expect(text)
      .to.match(/gateways .*ratio/)
      .and.match(/MISSED/);
    expect(JSON.stringify(document)).to.include('"batches":null').and.not.include('NaN');
  });
});
