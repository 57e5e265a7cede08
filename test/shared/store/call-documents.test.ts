import { expect } from 'chai';
import { callIdGenerator, newId } from '../../../shared/contract/identifiers.js';
import { CallDocuments } from '../../../shared/store/calls/call-documents.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { UsageLedger } from '../../../shared/store/calls/usage-ledger.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { documentsOfCall } from '../../support/service/prediction-rows.js';
import { freshDatabases } from '../../support/service/servers.js';

describe('CallDocuments', () => {
  let mongo: Mongo;
  const org = newId('org');
  const newCallId = callIdGenerator();

  before(async () => {
    mongo = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(mongo.database);
  });
  after(() => mongo.client.close());

  function callOf(records: number) {
    const at = new Date();
    return documentsOfCall({
      _id: newCallId(at.getTime(), org),
      org,
      bucket: 'live',
      month: '2026-01',
      records,
      at,
    });
  }
  const soon = () => AbortSignal.timeout(5_000);
  const ids = (documents: readonly { readonly _id: string }[]) => documents.map(({ _id }) => _id);

  it('records up to a hundred records in one document, whose _id is the call id', () => {
    expect(ids(callOf(100)).map(({ length }) => length)).to.deep.equal([26]);
    const [head = '', ...further] = ids(callOf(201));
    expect(further).to.deep.equal([`${head}.0100`, `${head}.0200`]);
  });

  it('insertEach reports an existing document as duplicate and writes the others', async () => {
    const calls = new CallDocuments(mongo.database);
    const [one, two] = [callOf(1), callOf(1)].flat();
    if (one === undefined || two === undefined) throw new Error('a call has no document');
    expect(await calls.insertEach([one], soon())).to.deep.include({ duplicates: [], isConfirmed: true });
    expect(await calls.insertEach([two, one], soon())).to.deep.include({
      duplicates: [1],
      isConfirmed: true,
    });
    const standing = await new UsageLedger(mongo.database).recordedCalls(ids([one, two]));
    expect([...standing]).to.have.members(ids([one, two]));
  });

  it('insertEach reports the code of a document that MongoDB refused, and writes the others', async () => {
    const { database } = mongo;
    const calls = new CallDocuments(database);
    const [one, two] = [callOf(1), callOf(2)].flat();
    if (one === undefined || two === undefined) throw new Error('a call has no document');
    const validate = (validator: object) => database.command({ collMod: callsCollection, validator });
    await validate({ records: { $ne: 2 } });
    const report = await calls.insertEach([two, one], soon()).finally(() => validate({}));
    expect([...report.failed].map(([index, { code }]) => [index, code])).to.deep.equal([[0, 121]]);
    expect([...(await new UsageLedger(database).recordedCalls(ids([one, two])))]).to.deep.equal(ids([one]));
  });

  it('insertEach reports isConfirmed false after a write concern error', async () => {
    const reply = {
      ok: 1,
      n: 1,
      writeConcernError: { code: 64, errmsg: 'waiting for replication timed out' },
    };
    const database = Object.assign(mongo.client.db(), { command: async () => reply });
    const calls = new CallDocuments(database);
    expect(await calls.insertEach(callOf(1), soon())).to.deep.include({ duplicates: [], isConfirmed: false });
  });

  it('voiding a large call removes all its documents and leaves a void row', async () => {
    const calls = new CallDocuments(mongo.database);
    const ledger = new UsageLedger(mongo.database);
    const [large, other] = [callOf(250), callOf(250)];
    await calls.insertEach([...large, ...other], soon());
    const [callId = ''] = ids(large);
    const [otherId = ''] = ids(other);
    await mongo.client.withSession((session) =>
      session.withTransaction(() => ledger.voidCall(callId, { session, signal: soon() })),
    );
    const stored = mongo.database.collection<{ readonly _id: string }>(callsCollection);
    const left = await stored.find({ _id: { $gte: callId, $lt: `${callId}/` } }).toArray();
    expect(left.map((each) => Object.keys(each))).to.deep.equal([['_id', 'voided_at']]);
    expect([...(await ledger.recordedCalls([callId, otherId]))]).to.deep.equal([otherId]);
    expect(await stored.countDocuments({ _id: { $gte: otherId, $lt: `${otherId}/` } })).to.equal(3);
  });
});
