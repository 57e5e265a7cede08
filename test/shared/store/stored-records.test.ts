import { expect } from 'chai';
import { BSON, MongoClient } from 'mongodb';
import { callIdGenerator, newId } from '../../../shared/contract/identifiers.js';
import {
  callsCollection,
  type PredictionSegment,
  predictionId,
  segmentsOf,
} from '../../../shared/store/calls/prediction-segment.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { freshDatabases } from '../../support/service/servers.js';

const mebibyte = 1024 * 1024;

describe('PredictionStore.storedRecords', () => {
  let client: MongoClient;
  let replyBytes: number;
  const newCallId = callIdGenerator();
  const org = newId('org');

  before(async () => {
    client = new MongoClient((await freshDatabases()).mongoUrl, { monitorCommands: true });
    client.on('commandSucceeded', ({ reply }) => {
      replyBytes += BSON.calculateObjectSize(reply as BSON.Document);
    });
  });
  beforeEach(() => {
    replyBytes = 0;
  });
  after(() => client.close());

  const read = (ids: readonly string[]) => new PredictionStore(client.db()).storedRecords(ids, 5_000);
  const collection = () => client.db().collection<PredictionSegment>(callsCollection);

  /** Records a call with these fields; returns the ids of its predictions. */
  async function record(fields: readonly string[], version = 'v1'): Promise<string[]> {
    const [at, callId] = [new Date(), newCallId(Date.now(), org)];
    const zeros = fields.map(() => 0);
    const columns = { scores: zeros, likelihoods: zeros, crmIds: fields.map((_, row) => `L-${row}`), fields };
    await collection().insertMany(segmentsOf({ callId, org, model: 'm', version, at, ...columns }));
    return fields.map((_, row) => predictionId(callId, row));
  }

  it('reads any rows of any calls', async () => {
    const fieldsOf = (call: number) => Array.from({ length: 120 }, (_, row) => `["${call}.${row}"]`);
    const calls: string[][] = [];
    for (let call = 0; call < 40; call += 1) calls.push(await record(fieldsOf(call), `v${call}`));
    const wanted = calls.flatMap((ids, call) =>
      [119 - call, call, 100].map((row) => ({
        id: ids[row] ?? '',
        version: `v${call}`,
        text: `["${call}.${row}"]`,
      })),
    );
    const found = await read(wanted.map(({ id }) => id));
    expect(found.size).to.equal(new Set(wanted.map(({ id }) => id)).size);
    for (const { id, version, text } of wanted)
      expect(found.get(id), text).to.deep.equal({ model: 'm', version, fields: text });
  });

  it('leaves out predictions that were erased, removed or never recorded', async () => {
    const ids = await record(['["a"]', '["b"]']);
    const [gone = ''] = await record(['["c"]']);
    await collection().updateOne({ _id: ids[0]?.split('.')[0] ?? '' }, { $set: { 'fields.1': null } });
    await new PredictionStore(client.db()).remove([gone.split('.')[0] ?? '']);
    const never = predictionId(newCallId(0, org), 3);
    const kept = [[ids[0], { model: 'm', version: 'v1', fields: '["a"]' }]];
    expect([...(await read([...ids, gone, never]))]).to.deep.equal(kept);
    expect([...(await read(ids))], 'of one segment').to.deep.equal(kept);
    for (const id of [ids[1] ?? '', gone, never]) expect([...(await read([id]))], id).to.deep.equal([]);
  });

  it('transfers only the requested fields of a slice', async () => {
    const long = JSON.stringify(['x'.repeat(100_000)]);
    const ids = await record(Array.from({ length: 100 }, (_, row) => (row === 41 ? '["a"]' : long)));
    replyBytes = 0;
    expect((await read([ids[41] ?? ''])).get(ids[41] ?? '')?.fields).to.equal('["a"]');
    expect(replyBytes).to.be.within(1, 10_000);
  });

  it('shares 64 MiB among the records, and gives undefined fields for longer ones', async () => {
    const long = JSON.stringify(['x'.repeat(6 * mebibyte)]);
    const short = '["a"]';
    const ids: string[] = [];
    for (let call = 0; call < 12; call += 1) ids.push(...(await record([long, short])));
    const few = await read(ids.slice(0, 10));
    expect(ids.slice(0, 10).map((id) => few.get(id)?.fields?.length)).to.deep.equal(
      Array.from({ length: 5 }, () => [long.length, short.length]).flat(),
    );
    replyBytes = 0;
    const many = await read(ids);
    expect(ids.map((id) => many.get(id)?.fields)).to.deep.equal(
      Array.from({ length: 12 }, () => [undefined, short]).flat(),
    );
    expect([...many.keys()]).to.have.members(ids);
    expect(replyBytes).to.be.below(mebibyte);
  });
});
