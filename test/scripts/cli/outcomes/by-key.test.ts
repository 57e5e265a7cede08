import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { StoredOutcome } from '../../../../shared/store/validation/outcomes.js';
import type { RunningService } from '../../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';
import { callCli } from '../cli-call.js';

describe('leadscore outcomes import --key', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let directory: string;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'outcomes-'));
  });
  after(() => rm(directory, { recursive: true, force: true }));

  const write = async (name: string, text: string | Buffer): Promise<string> => {
    const path = join(directory, name);
    await writeFile(path, text);
    return path;
  };
  const run = (path: string, ...options: string[]) =>
    callCli(['outcomes', 'import', '--key', own.live.secret, '--url', service.url(), path, ...options]);
  const stored = async () => {
    const found = service.stores.database.collection<StoredOutcome>('outcomes').find({ org: own.id });
    return (await found.sort({ crm_id: 1 }).toArray()).map(({ crm_id, converted, at }) => [
      crm_id,
      converted,
      at.toISOString().slice(0, 16),
    ]);
  };

  it('reports as the form with an organisation does, and stores what it reads', async () => {
    await own.score([{ company_size: 5, crm_id: 'L-2' }]);
    const rows = [
      'L-1;Closed Won;2026-03-01T14:05:00+02:00',
      "'=1+1;closed won;",
      'L-2;Nurture;',
      ';Closed Won;',
      'Total;Lost;',
      '"L;3";Lost;2026-01-01',
      'L-1;Lost;',
    ];
    const path = await write('deals.csv.gz', gzipSync(`Lead;Stage;Closed\n${rows.join('\n')}\n`));
    const columns = ['--crm-id', 'Lead', '--converted', 'Stage', '--at', 'Closed', '--won-values', 'Closed Won'];
    const { exitCode, stdout, stderr } = await run(path, ...columns, '--json');
    expect(exitCode, stderr).to.equal(1);
    const rule =
      '"Stage" must be yes (Closed Won) or no (0, false, no, n, f, off, lost, open), or a value of --won-values or --lost-values';
    expect(JSON.parse(stdout)).to.deep.equal({
      ...{ rows: 7, accepted: 5, converted: 2, refused: 2, known: 0, unknown: 4, repeated: 1 },
      ...{ unknown_example: 'L-1', scored_example: 'L-2' },
      problems: [`deals.csv.gz, line 4: ${rule}, but is "Nurture"`, 'deals.csv.gz, line 5: "Lead" is empty'],
      notes: [
        '1 converted lead has no date. A conversion without a date counts from its first import',
        '1 row has a crm_id that an earlier row has, such as "L-1" in line 8. The last row of a lead counts, but of several conversions the earliest',
      ],
      complete: true,
    });
    const found = await stored();
    expect(found.map(([crmId, converted]) => [crmId, converted])).to.deep.equal([
      ['=1+1', true],
      ['L-1', false],
      ['L;3', false],
      ['Total', false],
    ]);
    const dated = await write('dated.csv', 'crm_id,converted,at\nL-9,1,2026-03-03\n');
    const readable = await run(dated);
    expect(readable.exitCode, readable.stderr).to.equal(0);
    expect(readable.stdout)
      .to.match(/Imported +1 \(1 converted\)/)
      .and.match(/Grading +by the service, within half an/);
    const later = await write('later.csv', 'crm_id,converted,at\nL-9,1,2026-04-09\n');
    await run(later);
    expect((await stored()).find(([crmId]) => crmId === 'L-9')?.[2]).to.equal('2026-03-03T00:00');
    await run(later, '--correct-dates');
    expect((await stored()).find(([crmId]) => crmId === 'L-9')?.[2]).to.equal('2026-04-09T00:00');
  });

  it('cuts a file of more rows than a call takes, and counts each lead once', async function () {
    this.timeout(120_000);
    await own.change({ plan: 'enterprise' });
    await own.score([{ company_size: 5, crm_id: 'L00000' }]);
    const ids = Array.from({ length: 24_000 }, (_, index) => `L${String(index % 22_000).padStart(5, '0')}`);
    const path = await write('many.csv', `crm_id,converted\n${ids.map((id, at) => `${id},${at % 2}\n`).join('')}`);
    const { exitCode, stdout, stderr } = await run(path, '--json');
    expect(exitCode, stderr).to.equal(0);
    const report = JSON.parse(stdout);
    expect(report).to.include({ rows: 24_000, accepted: 24_000, known: 1, unknown: 21_999, repeated: 2_000 });
    expect(await service.stores.database.collection('outcomes').countDocuments({ org: own.id })).to.equal(22_000);
  });

  it('tries again after errors of the service, and stops at a refusal', async () => {
    const path = await write('won.csv', 'crm_id,converted\nL1,1\n');
    const bodies: string[] = [];
    const answers = [503, 429, 200, 401];
    const codes: Readonly<Record<number, string>> = {
      401: 'invalid_api_key',
      429: 'rate_limited',
      503: 'internal_error',
    };
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        bodies.push(Buffer.concat(chunks).toString());
        const status = answers.shift() ?? 500;
        const reply = { accepted: 1, refused: 0, problems: [], known: 1, unknown: 0 };
        response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '0' });
        response.end(
          JSON.stringify(
            status === 200 ? reply : { error: { code: codes[status], message: `Refused with ${status}.` } },
          ),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const call = () => callCli(['outcomes', 'import', '--key', 'k', '--url', url, path, '--json']);
    try {
      const { exitCode, stdout, stderr } = await call();
      expect(exitCode, stderr).to.equal(0);
      expect(JSON.parse(stdout)).to.include({ accepted: 1, known: 1 });
      expect(bodies).to.deep.equal(Array.from({ length: 3 }, () => 'converted,crm_id,at\n1,L1,\n'));
      const stopped = await call();
      expect(stopped.exitCode).to.equal(1);
      expect(stopped.stdout + stopped.stderr).to.include('Refused with 401');
      expect(bodies).to.have.length(4);
    } finally {
      server.close();
    }
  });

  it('names the missing column by its option, and refuses an organisation beside a key', async () => {
    const path = await write('leads.csv', 'Prospect ID,Won\nL1,1\n');
    const missing = await run(path);
    expect(missing.exitCode).to.equal(1);
    expect(missing.stderr).to.include('no column "crm_id"').and.include('--crm-id');
    const both = await callCli(['outcomes', 'import', '--key', 'k', own.id, path]);
    expect([both.exitCode, both.stderr]).to.deep.equal([2, both.stderr]);
    expect(both.stderr).to.include('The key names the organisation');
    const neither = await callCli(['outcomes', 'import', path]);
    expect(neither.exitCode).to.equal(2);
    expect(neither.stderr).to.include('Give --key and a file');
  });
});
