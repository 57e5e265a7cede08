import { gzipSync } from 'node:zlib';
import { Queue } from 'bullmq';
import { expect } from 'chai';
import { createOrganisation } from '../../../shared/admin/organisations/change-organisations.js';
import { importOutcomesOutput, outcomesSchema, previewOutcomesOutput } from '../../../shared/admin/schemas/outcomes.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { monthOf } from '../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { gradingQueueName } from '../../../shared/messages/grading-job.js';
import { queuePrefix } from '../../../shared/redis/keys.js';
import type { CallDocument } from '../../../shared/store/calls/call-documents.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import type { StoredOutcome } from '../../../shared/store/validation/outcomes.js';
import { expectShape } from '../../support/admin/admin-desk.js';
import type { Caller, ConsoleReply, ConsoleService } from '../../support/admin/console-service.js';
import { sharedConsole } from '../../support/admin/shared-console.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { documentsOfCall } from '../../support/service/prediction-rows.js';
import { startTimeoutMs } from '../../support/service/service.js';

const csv = { 'content-type': 'text/csv' };
const file = 'crm_id,converted,at\nL1,1,2026-03-01\nL2,no,\n';

describe('outcomes in the console', () => {
  let service: ConsoleService;
  let own: string;
  let admin: Caller;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedConsole();
  });
  beforeEach(async () => {
    own = await service.newOrganisation();
    admin = await service.signIn('admin', own);
  });

  const path = (query = '', org = own): string => `/admin/v1/orgs/${org}/outcomes${query}`;
  const post = (
    body: string | Uint8Array,
    query = '',
    headers: Readonly<Record<string, string>> = csv,
    caller = admin,
  ) => caller('POST', path(query), { body, headers });
  const imported = async (body: string | Uint8Array, query = ''): Promise<ConsoleReply['body']> => {
    const reply = await post(body, query);
    expect(reply.status, JSON.stringify(reply.body)).to.equal(200);
    expectShape(importOutcomesOutput, reply.body);
    return reply.body;
  };
  const previewed = async (body: string | Uint8Array, query = ''): Promise<ConsoleReply['body']> => {
    const reply = await post(body, `/preview${query}`);
    expect(reply.status, JSON.stringify(reply.body)).to.equal(200);
    expectShape(previewOutcomesOutput, reply.body);
    return reply.body;
  };
  const stored = async (org = own) => {
    const found = service.database.collection<StoredOutcome>('outcomes').find({ org }).sort({ crm_id: 1 });
    return (await found.toArray()).map(({ crm_id, converted }) => [crm_id, converted]);
  };
  const entries = async (action: string, org = own) =>
    (await service.audit(org)).filter((entry) => entry.action === action);
  const messageOf = ({ body }: ConsoleReply) => (body.error as { readonly message: string }).message;
  /** Stores one live call that scored some leads. */
  async function scored(org: string, crmIds: readonly string[]): Promise<void> {
    const at = new Date();
    const _id = callIdGenerator()(at.getTime(), org);
    const call = { _id, org, bucket: 'live', month: monthOf(at.getTime()), records: crmIds.length, at } as const;
    await service.database.collection<CallDocument>(callsCollection).insertMany(documentsOfCall(call, crmIds));
  }

  it('are stored from a CSV, counted against the leads of the organisation alone, and recorded without a lead', async () => {
    const other = await service.newOrganisation('Beta');
    await scored(own, ['L2']);
    await scored(other, ['L1', 'L4']);
    const reply = await imported(`${file}L2,0,\nL4,maybe,\n`);
    const { problems, notes, ...counts } = reply;
    expect(counts).to.deep.equal({
      ...{ accepted: 3, rows: 4, converted: 1, refused: 1, known: 1, unknown: 1, repeated: 1 },
      ...{ unknown_example: 'L1', scored_example: 'L2' },
    });
    expect(problems).to.have.length(1).and.have.nested.property('[0].first[0].line', 5);
    expect(notes).to.have.length(1);
    expect(await stored()).to.deep.equal([
      ['L1', true],
      ['L2', false],
    ]);
    expect(await stored(other)).to.deep.equal([]);
    const [entry, ...more] = await entries('outcomes.import');
    expect(more).to.deep.equal([]);
    expect(entry).to.deep.include({ org: own, after: { accepted: 3, converted: 1, leads: 2 } });
    expect(entry?.actor).to.include({ name: 'Ada', way: 'link' });
    expect(JSON.stringify(entry)).to.not.match(/L1|L2/);
    const queue = new Queue(gradingQueueName, { connection: service.redis, prefix: queuePrefix });
    const waiting = (await queue.getDelayed()).map(({ data }) => data.organisationId);
    await queue.close();
    expect(waiting).to.include(own);
    expect(await imported(`${file}L2,0,\n`), 'again').to.include({ accepted: 3 });
  });

  it('are taken from an admin on, from the own organisation and from the console itself alone', async () => {
    for (const [address, body] of [
      [path(), file],
      [path('/preview'), file],
    ] as const) {
      const send = (caller: Caller, headers: Readonly<Record<string, string>> = csv, to = address) =>
        caller('POST', to, { body, headers });
      expect((await send(await service.signIn('viewer', own))).status, 'viewer').to.equal(403);
      expect((await send(service.anyone)).status, 'without a session').to.equal(401);
      const other = await service.newOrganisation('Beta');
      expect((await send(admin, csv, address.replace(own, other))).status, 'of another one').to.equal(404);
      const foreign = await send(admin, { ...csv, 'sec-fetch-site': 'same-site' });
      expect([foreign.status, messageOf(foreign)]).to.deep.equal([
        403,
        'This request came from another site. Open the console itself and try again.',
      ]);
      const json = await send(admin, { 'content-type': 'application/json' });
      expect([json.status, messageOf(json)]).to.deep.equal([
        422,
        'Send the file as the body: the Content-Type must be text/csv.',
      ]);
    }
    expect(await stored()).to.deep.equal([]);
    expect(await entries('outcomes.import')).to.deep.equal([]);
  });

  it('are refused with the sentences of POST /v1/outcomes, and nothing is stored or recorded', async () => {
    const cases: readonly [body: string, query: string, says: string][] = [
      ['', '', 'it is empty'],
      ['Lead,Won\nL1,1\n', '', 'no column "crm_id". Name the column with crm_id. Its columns: "Lead", "Won"'],
      ['crm_id,converted\nL1,"1\n', '', 'The quote in line 2, column 4 is not closed'],
      ['{"crm_id": "L1"}', '', 'Outcomes are read from a CSV alone'],
      [file, '?others_lost=1', 'others_lost needs won_values'],
      [file, '?won_values=a&lost_values=A', '"A" means won and not won'],
      [file, '?won_values=a&ignored_values=A', '"a" has a meaning and is passed over'],
      [`crm_id,converted\nL1,1\n${',\n'.repeat(50_000)}`, '', 'The file has more than 50,000 rows. Cut it.'],
    ];
    for (const [body, query, says] of cases) {
      const reply = await post(body, query);
      expect(reply.status, body.slice(0, 40)).to.equal(422);
      expect(messageOf(reply)).to.include(says);
    }
    expect((await post(file, '?convertd=Won')).status, 'an unknown option').to.equal(422);
    const free = (await service.act(createOrganisation, { name: 'Free', plan: 'free' })).org_id;
    const leads = Array.from({ length: 10_001 }, (_, index) => `L${index},1\n`).join('');
    const over = await (await service.signIn('admin', free))('POST', path('', free), {
      ...{ body: `crm_id,converted\n${leads}`, headers: csv },
    });
    expect([over.status, messageOf(over)]).to.satisfy(
      ([status, message]: [number, string]) => status === 400 && message.includes('outcomes of 10000 leads'),
    );
    for (const org of [own, free]) {
      expect(await stored(org)).to.deep.equal([]);
      expect(await entries('outcomes.import', org)).to.deep.equal([]);
    }
  });

  it('are previewed: columns, first rows, values with a likely meaning, and where the next part begins', async () => {
    const text =
      '\ufeffLead ID;Deal Stage;Closed\r\nL1;Closed Won;2026-03-01\r\nL2;"Two\r\nlines";\r\nL3;Open;\r\nL4;Op';
    const start = await previewed(text, '?goes_on=true');
    expect(start).to.deep.include({
      ...{ encoding: 'utf-8', columns: ['Lead ID', 'Deal Stage', 'Closed'], header_bytes: 30 },
      suggested: { crm_id: 'Lead ID', converted: 'Deal Stage', at: 'Closed' },
    });
    expect(start.first_rows).to.deep.equal([
      ['L1', 'Closed Won', '2026-03-01'],
      ['L2', 'Two\r\nlines', ''],
      ['L3', 'Open', ''],
    ]);
    const chosen = 'crm_id=Lead%20ID&converted=Deal%20Stage';
    const { values, bytes, next_line: nextLine } = await previewed(text, `?${chosen}&goes_on=true`);
    expect(values).to.deep.equal([
      { value: 'Closed Won', key: 'closed won', rows: 1, suggested: 'won' },
      { value: 'Two\r\nlines', key: 'two\r\nlines', rows: 1, suggested: null },
      { value: 'Open', key: 'open', rows: 1, suggested: 'lost' },
    ]);
    expect([bytes, nextLine]).to.deep.equal([Buffer.byteLength(text) - 'L4;Op'.length, 6]);
    expect(await previewed(Buffer.from(text, 'utf16le'), '?goes_on=true')).to.include({ encoding: 'utf-16le' });
    expect(await stored()).to.deep.equal([]);
  });

  it('have the lines of the file in the problems of a later part, and pass over ignored values', async () => {
    const header = 'Id,Stage\n';
    const query = `?crm_id=Id&converted=Stage&won_values=Won&ignored_values=${encodeURIComponent('"Open","In, doubt"')}`;
    const part = `&line=1002&header=${header.length}`;
    const reply = await imported(`${header}A,Won\nB,open\nC,"In, doubt"\n,Won\nD,?\n`, query + part);
    expect(reply).to.include({ accepted: 1, rows: 5, refused: 2, ignored: 2 });
    const lines = (reply.problems as { first: { line: number }[] }[]).map(({ first }) => first[0]?.line);
    expect(lines).to.have.members([1005, 1006]);
    expect((await post(`${header}A,Won\n`, `${query}&line=1002`)).status, 'half of a part').to.equal(422);
    const broken = await post(`${header}A,"Won\n`, query + part);
    expect(messageOf(broken)).to.include('The quote in line 1002, column 3 is not closed');
    expect(await stored()).to.deep.equal([['A', true]]);
    const packed = await admin('POST', path(query), {
      ...{ body: new Uint8Array(gzipSync(`${header}B,Won\n`)), headers: { ...csv, 'content-encoding': 'gzip' } },
    });
    expect(packed.body).to.include({ accepted: 1 });
  });

  it('show the gates of each model with the next grade, and the values that an admin has set', async () => {
    const bundle = checkBundle(sampleBundle());
    const model = await createModel(service.database, { organisationId: own, bundle, now: new Date() });
    const set = (body: object) => admin('PATCH', path(), { body });
    expect((await set({ won_values: ['Signed'], lost_values: ['Verloren'] })).body).to.deep.equal({
      ...{ won_values: ['Signed'], lost_values: ['Verloren'] },
    });
    const both = await set({ won_values: ['Signed'], lost_values: ['signed'] });
    expect([both.status, messageOf(both)]).to.deep.equal([422, 'lost_values has "signed", which means won too.']);
    const askedMs = Date.now();
    const { body } = await admin('GET', path());
    const answeredMs = Date.now();
    expectShape(outcomesSchema, body);
    expect(body).to.deep.include({ won_values: ['Signed'], lost_values: ['Verloren'] });
    const [shown] = body.models as { model_id: string; gates: unknown[]; next_grade_at: string }[];
    expect(shown).to.include({ model_id: model._id }).and.not.have.property('graded_at');
    expect(shown?.gates).to.have.length(6);
    expect(Date.parse(shown?.next_grade_at ?? '')).to.be.within(askedMs + 60_000, answeredMs + 60_000);
    const [entry] = await entries('outcomes.set');
    expect(entry?.after).to.deep.equal({ won_values: ['Signed'], lost_values: ['Verloren'] });
    const text = 'crm_id,converted\nA,Signed\nB,verloren\n';
    expect((await previewed(text, '?converted=converted')).values).to.deep.equal([
      { value: 'Signed', key: 'signed', rows: 1, suggested: 'won' },
      { value: 'verloren', key: 'verloren', rows: 1, suggested: 'lost' },
    ]);
    expect((await set({ won_values: [], lost_values: [] })).body).to.deep.equal({ won_values: [], lost_values: [] });
  });
});
