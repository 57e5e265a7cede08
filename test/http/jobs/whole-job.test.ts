import { gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { publishChange } from '../../../shared/redis/changes.js';
import type { CallDay } from '../../../shared/store/console/call-days.js';
import { idsOfJob } from '../../../shared/store/jobs/job-documents.js';
import type { Coverage } from '../../../shared/store/models/coverage.js';
import { eventually } from '../../support/eventually.js';
import { refused } from '../../support/http/score-reply.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { itInFull } from '../../support/tier.js';
import { download, inputCall, type JobBody, jobOf, newJob } from './job-calls.js';

const missing = 'Not in the file: "demo_requested", "lead_source" (of 3 fields that the model knows)';

describe('a bulk job through the API', () => {
  let service: RunningService;
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('bulk');
    own = await workspace(service);
  });

  const upload = async (jobId: string, bytes: Uint8Array) => jobOf(await inputCall(own, jobId, 'PUT', { bytes }));
  const read = async (jobId: string): Promise<JobBody> => jobOf(await own.call(`/v1/jobs/${jobId}`));

  async function until(jobId: string, state: string): Promise<JobBody> {
    await eventually(async () => expect((await read(jobId)).state).to.equal(state), 60_000);
    return await read(jobId);
  }

  const downloaded = async (path: string): Promise<Buffer> => (await download(own, path)).bytes;

  it('takes a gzipped CSV of a CRM, and gives it back with scores', async function () {
    this.timeout(90_000);
    const { job_id: id } = await newJob(own, { input: { format: 'csv', crm_id_field: 'Lead ID' }, explain: true });
    const rows = Array.from({ length: 1_500 }, (_, row) => `"00Q${row}";"Müller; & ""Söhne""";${row % 400}`);
    await upload(id, gzipSync(`Lead ID;Company;company_size\r\n${rows.join('\r\n')}\r\n`));
    expect((await until(id, 'completed')).progress).to.include({ rows: 1_500, scored: 1_500, failed: 0 });
    const results = await downloaded(`${id}/results`);
    const [header, ...lines] = String(results).trimEnd().split('\n');
    expect(header).to.equal(
      'Lead ID;Company;company_size;score;conversion_likelihood;enriched;previous_score;delta;warnings;' +
        'top_reason_1;top_reason_2;top_reason_3;error',
    );
    expect(lines.map((line) => line.slice(0, rows[0]?.length ?? 0).split(';')[0])).to.deep.equal(
      rows.map((row) => row.split(';')[0]),
    );
    expect(lines[7]).to.match(/^"00Q7";"Müller; & ""Söhne""";7;\d+;[\d.]+;false;;;;[^;]+;Company size is 7 \(/);
    const zipped = await downloaded(`${id}/results?compression=gzip`);
    expect(String(gunzipSync(zipped))).to.equal(String(results));
    const usage = JSON.parse((await own.call('/v1/usage')).text) as { readonly current: number };
    expect(usage.current).to.equal(await own.ledgerSum());
    await eventually(async () => {
      const { text } = await own.call(`/v1/models/${own.model._id}/coverage?days=2`);
      const { days, fields } = JSON.parse(text) as Coverage;
      expect(days.reduce((sum, { records }) => sum + records, 0)).to.equal(1_500);
      const sent = fields.map(({ field, sent: records }) => [field, records]);
      expect(sent).to.deep.include.members([['company_size', 1_500]]);
    }, 30_000);
    // The console shows the records of each model from them.
    const days = service.stores.database.collection<CallDay>('call_days');
    const of = { org: own.id, model: own.model._id };
    await eventually(async () => {
      const found = await days.find(of).toArray();
      expect(found.map(({ key, bucket, calls, records }) => ({ key, bucket, calls, records }))).to.deep.equal([
        { key: own.live.key._id, bucket: 'live', calls: 0, records: 1_500 },
      ]);
    }, 30_000);
  });

  itInFull('reads the report of a CRM in UTF-16, and names the footer that it passes over', async function () {
    this.timeout(90_000);
    const { job_id: id } = await newJob(own, { input: { format: 'csv', crm_id_field: 'Lead ID' } });
    const text = '\uFEFFLead ID\tcompany_size\r\na\t7\r\nNULL\t8\r\n\r\nCopyright (c) Example\r\n';
    await upload(id, Buffer.from(text, 'utf16le'));
    const job = await until(id, 'completed');
    expect(job.progress).to.include({ rows: 4, scored: 2, failed: 0, empty: 2 });
    expect(job.notices).to.deep.equal(['Line 5 is the footer of a report and was passed over', missing]);
    expect(String(await downloaded(`${id}/results`)).slice(0, 8)).to.equal('\uFEFFLead ID');
    expect(String(await downloaded(`${id}/errors`))).to.equal('\uFEFFrow\tline\tcrm_id\tfield\tmessage\tsurplus\n');
    const lines = String(await downloaded(`${id}/results`))
      .split('\n')
      .slice(3, -1);
    expect(lines).to.deep.equal(['\t'.repeat(8), `Copyright (c) Example${'\t'.repeat(8)}`]);
  });

  itInFull('names repeated ids and short rows, and fails on a file of blank rows alone', async function () {
    this.timeout(90_000);
    const { job_id: id } = await newJob(own, { input: { format: 'csv', crm_id_field: 'Lead ID' } });
    await upload(id, Buffer.from('company_size,Lead ID\n1,Tell-tale\n2\n3,Tell-tale\n'));
    const job = await until(id, 'completed');
    expect(job.progress).to.include({ rows: 3, scored: 3 });
    expect(job.notices).to.deep.equal([
      '1 row has fewer cells than the header, first in line 3. The missing cells are read as empty',
      '1 row has a crm_id that an earlier row has, first in line 4',
      missing,
    ]);
    const { job_id: blank } = await newJob(own);
    await upload(blank, Buffer.from('company_size,b\n , \n,\n'));
    const failed = await until(blank, 'failed');
    expect(failed.error?.message).to.equal('The file has a header, but no rows with content');
    const { database } = service.stores;
    await eventually(async () => {
      for (const name of ['job_slices', 'job_blobs', 'job_uploads'])
        expect(await database.collection<{ _id: string }>(name).countDocuments({ _id: idsOfJob(blank) })).to.equal(0);
    });
  });

  it('names the fields of whose values the model could use none, and keeps the text of a failed row', async function () {
    this.timeout(90_000);
    const { job_id: id } = await newJob(own);
    const rows = ['a,n.a. EUR,Unheard-of', 'b,n.a. EUR,', 'c,7,Unheard-of, Inc'];
    await upload(id, Buffer.from(`crm_id,company_size,lead_source\n${rows.join('\n')}\n`));
    const { notices, progress } = await until(id, 'completed');
    expect(progress).to.include({ rows: 3, scored: 2, failed: 1 });
    const why = 'Send some of these rows to POST /v1/score with "input_report": true to see why';
    expect(notices).to.deep.equal([
      'Not in the file: "demo_requested" (of 3 fields that the model knows)',
      `No value of "company_size" in rows 1 to 3 could be read. ${why}`,
      `No value of "lead_source" in rows 1 to 3 is one that the model was trained with. ${why}`,
    ]);
    const [, failed] = String(await downloaded(`${id}/errors`)).split('\n');
    expect(failed).to.match(/^3,4,c,,"?The row has 4 cells.*, Inc$/);
  });

  it('says when the file has been read that the month has no room for its rows', async function () {
    this.timeout(90_000);
    const before = own;
    own = await workspace(service, { limit: 5 });
    try {
      const rows = Array.from({ length: 12 }, (_, row) => `L-${row},${row}\n`).join('');
      const pausedWith = async (stop_at: string) => {
        const { job_id: id } = await newJob(own, { stop_at });
        await upload(id, Buffer.from(`crm_id,company_size\n${rows}`));
        const { notices = [] } = await until(id, 'paused');
        return notices.filter((notice) => notice.startsWith('The file has'));
      };
      const month = /the next month begins \(\d{4}-\d\d-01 UTC\)/;
      const [atLimit = '', ...more] = await pausedWith('limit');
      expect(more).to.deep.equal([]);
      expect(atLimit)
        .to.match(/^The file has 12 rows, and this month has room for 5 records until the limit\. /)
        .and.match(month)
        .and.include('(--stop-at backstop) also uses the grace band: it has room for 10 records. ')
        .and.match(/The operator of the service can raise the limit$/);
      const [atBackstop = ''] = await pausedWith('backstop');
      expect(atBackstop)
        .to.match(/^The file has 12 rows, and this month has room for 10 records until the backstop\. /)
        .and.match(month)
        .and.not.include('grace band');
    } finally {
      own = before;
    }
  });

  it('fails on each broken file with its line and column, and counts nothing', async function () {
    this.timeout(120_000);
    const mib = 1024 * 1024;
    const header = 'crm_id,company_size\n';
    const zipped = gzipSync(`${header}${'a,1\n'.repeat(9)}`);
    const endless = gzipSync(Buffer.concat([Buffer.from(header), Buffer.alloc(50 * mib, 'x')]));
    const broken: Readonly<Record<string, readonly [Uint8Array | string, RegExp, number, number?]>> = {
      'no header': ['a,1\nb,2\n', /has no column that the model knows. Its columns: "a", "1"/, 1],
      'no known column': ['crm_id,x\na,1\n', /has no column that the model knows. Its columns: "crm_id", "x"/, 1],
      'two columns of one name': [
        'crm_id,company_size,company_size\na,1,2\n',
        /two columns have the name "company_size" \(line 1, columns 2 and 3\)/i,
        1,
      ],
      'an unclosed quote': [`${header}a,1\nb,"2\nc,3\n`, /quote in line 3, column 3 is not closed/, 3, 3],
      'broken UTF-16': [
        Buffer.concat([Buffer.from(`\uFEFF${header}a,`, 'utf16le'), Buffer.from([0, 0xd8, 0x31, 0])]),
        /not UTF-16 throughout \(line 2, column 3\)/,
        2,
        3,
      ],
      'a NUL': [`${header}a,1\0\n`, /NUL character \(line 2, column 4\)/, 2, 4],
      'a row of 2 MB': [`${header}a,${'1'.repeat(2 * mib)}\n`, /Row 1 \(line 2, column 1\) has more than 1 MiB/, 2, 1],
      'gzip that ends early': [zipped.subarray(0, -8), /ends early \(read up to line 11, column 1\)/, 11, 1],
      'gzip that inflates to a row without end': [endless, /Row 1 \(line 2, column 1\) has more than 1 MiB/, 2, 1],
    };
    const before = await own.ledgerSum();
    for (const [name, [file, message, line, column]] of Object.entries(broken)) {
      const { job_id: id } = await newJob(own);
      await upload(id, Buffer.from(file));
      const { error, progress } = await until(id, 'failed');
      expect(error?.message, name).to.match(message);
      expect([error?.line, error?.column], name).to.deep.equal([line, column]);
      expect(progress.scored, name).to.equal(0);
    }
    expect(await own.ledgerSum()).to.equal(before);
  });

  it('runs after the expiry of the key that created it, and counts under that key', async function () {
    this.timeout(90_000);
    const key = await own.addKey('live');
    const { job_id: id } = await newJob(own, {}, key);
    const { stores, redis } = service;
    await stores.keys.set(key.key._id, { expires_at: new Date(service.clock.now()) });
    await publishChange(redis, { kind: 'key', id: key.key.hash });
    await eventually(async () => refused(await own.call(`/v1/jobs/${id}`, { key }), '401 invalid_api_key'));
    await upload(id, Buffer.from('company_size\n7\n8\n'));
    expect((await until(id, 'completed')).progress).to.include({ rows: 2, scored: 2 });
    const row = { org: own.id, key: key.key._id, records: 2 };
    expect(await stores.database.collection('calls').countDocuments(row)).to.equal(1);
  });

  itInFull('goes on after too many errors when it is resumed', async function () {
    this.timeout(90_000);
    const { job_id: id } = await newJob(own, { input: { format: 'jsonl' }, max_errors: 10 });
    const lines = Array.from({ length: 9_000 }, (_, row) => (row % 3 === 0 ? 'no JSON' : `{"company_size":${row}}`));
    await upload(id, Buffer.from(lines.join('\n')));
    expect((await until(id, 'paused')).pause?.reason).to.equal('too_many_errors');
    await eventually(async () => {
      await own.call(`/v1/jobs/${id}/resume`, { method: 'POST', body: {} });
      expect((await read(id)).state).to.equal('completed');
    }, 60_000);
    expect((await read(id)).progress).to.include({ rows: 9_000, scored: 6_000, failed: 3_000 });
    const errors = String(await downloaded(`${id}/errors`))
      .trimEnd()
      .split('\n');
    expect(errors).to.have.length(3_000);
    expect(JSON.parse(errors[1] ?? '')).to.include({ row: 4, line: 4 });
  });
});
