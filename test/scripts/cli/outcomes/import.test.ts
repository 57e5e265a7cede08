import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Queue } from 'bullmq';
import { expect } from 'chai';
import { dayMs, monthOf } from '../../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../../shared/contract/identifiers.js';
import { gradingQueueName } from '../../../../shared/messages/grading-job.js';
import { queuePrefix } from '../../../../shared/redis/keys.js';
import type { StoredOutcome } from '../../../../shared/store/validation/outcomes.js';
import { documentsOfCall } from '../../../support/service/prediction-rows.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

/** Accepted contents of the converted column. */
const words =
  'yes (1, true, yes, y, t, on, won, converted) or no (0, false, no, n, f, off, lost, open), or a value of --won-values or --lost-values';

describe('leadscore outcomes import', () => {
  let desk: OperatorDesk;
  let organisation: string;
  let directory: string;

  before(async () => {
    desk = await operatorDesk();
  });
  after(() => desk.leave());

  beforeEach(async () => {
    organisation = await desk.newOrganisation();
    directory = await desk.writeBundle();
  });

  const write = async (name: string, text: string | Buffer): Promise<string> => {
    const path = join(directory, name);
    await writeFile(path, text);
    return path;
  };
  const collection = () => desk.stores.database.collection<StoredOutcome>('outcomes');
  const stored = async () => {
    const found = await collection().find({ org: organisation }).sort({ crm_id: 1 }).toArray();
    return found.map(({ crm_id, converted, at }) => [crm_id, converted, at.toISOString().slice(0, 16)]);
  };

  it('outcomes import reads the crm_id of a cell that was made safe for spreadsheets', async () => {
    const path = await write('scored.csv', "crm_id,converted\n'=1+1,1\n-7,0\n");
    await desk.document('outcomes', 'import', organisation, path);
    expect((await stored()).map(([crmId]) => crmId)).to.have.members(['=1+1', '-7']);
  });

  it('outcomes import reads a CSV with the default column names', async () => {
    const path = await write(
      'won.csv',
      'crm_id,converted,at,owner\nL1,1,2026-03-01,ada\nL2,no,,bob\n\nL3,TRUE,2026-03-01T14:05:00+02:00,\n',
    );
    const report = await desk.document('outcomes', 'import', organisation, path);
    expect(report).to.deep.equal({
      org_id: organisation,
      rows: 3,
      accepted: 3,
      converted: 2,
      refused: 0,
      known: 0,
      unknown: 3,
      repeated: 0,
      unknown_example: 'L1',
      problems: [],
      complete: true,
    });
    const now = new Date().toISOString().slice(0, 10);
    const found = await stored();
    expect([found[0], found[2]]).to.deep.equal([
      ['L1', true, '2026-03-01T00:00'],
      ['L3', true, '2026-03-01T12:05'],
    ]);
    expect(found[1]?.slice(0, 2)).to.deep.equal(['L2', false]);
    expect(String(found[1]?.[2])).to.match(new RegExp(`^${now}`)); // the import time
  });

  it('outcomes import says how many leads have a score and how many rows repeat, with an example of each side', async () => {
    const scored = ['00Q5g00000ABcDe', 'L-1', 'L-2'];
    const nowMs = Date.now();
    const call = { org: organisation, bucket: 'live', month: monthOf(nowMs), records: 3, at: new Date(nowMs) } as const;
    await desk.stores.calls.insertMany(
      documentsOfCall({ ...call, _id: callIdGenerator()(nowMs, organisation) }, scored),
    );
    const ids = ['00Q5g00000ABcDeEAL', 'L-1', 'l-1', 'L-1', 'K', '00Q5g00000ABcDe'];
    const path = await write('leads.csv', `crm_id,converted\n${ids.map((id) => `${id},0`).join('\n')}\n`);
    const report = await desk.document('outcomes', 'import', organisation, path);
    const examples = { unknown_example: 'l-1', scored_example: '00Q5g00000ABcDe' };
    expect(report).to.include({ accepted: 6, known: 2, unknown: 2, repeated: 2, ...examples });
    const { stdout } = await desk.run('outcomes', 'import', organisation, path);
    expect(stdout).to.match(/Leads +2 with a score, 2 without/);
    expect(stdout.replace(/\s+/g, ' ')).to.include(
      '2 of 4 leads have no stored score, such as "l-1". A lead with a score is "00Q5g00000ABcDe". ' +
        'An outcome counts under the crm_id of a score',
    );
    const known = await write('known.csv', 'crm_id,converted\nL-1,0\n');
    expect(await desk.document('outcomes', 'import', organisation, known)).to.include({ known: 1, unknown: 0 });
    const other = await desk.newOrganisation();
    const elsewhere = await desk.document('outcomes', 'import', other, known);
    expect(elsewhere).to.include({ known: 0, unknown: 1 }).and.not.have.property('scored_example');
  });

  it('outcomes import dates a conversion without a date at the first import, and keeps that date', async () => {
    const path = await write('list.csv', 'crm_id,converted\nL1,0\nL2,1\nL3,1\n');
    const dated = await write('dated.csv', 'crm_id,converted,at\nL3,1,2026-03-01\n');
    for (const file of [dated, path]) await desk.document('outcomes', 'import', organisation, file);
    const before = await collection().find({ org: organisation }).sort({ crm_id: 1 }).toArray();
    expect(before[2]?.at).to.deep.equal(new Date('2026-03-01'));
    const later = await write('later.csv', 'crm_id,converted\nL1,1\nL2,1\nL3,1\n');
    await desk.document('outcomes', 'import', organisation, later);
    const after = await collection().find({ org: organisation }).sort({ crm_id: 1 }).toArray();
    expect(after.slice(1)).to.deep.equal(before.slice(1));
    expect(after[0]).to.include({ converted: true });
    expect(after[0]?.at.getTime()).to.be.greaterThan(before[1]?.at.getTime() ?? Number.POSITIVE_INFINITY);
  });

  it('outcomes import keeps the first conversion of a lead, and --correct-dates replaces its date', async () => {
    const path = await write('again.csv', 'crm_id,converted,at\nL1,1,2026-03-03\nL1,1,2026-04-09\nL2,1,2026-03-03\n');
    const later = await write('later.csv', 'crm_id,converted,at\nL1,1,2026-04-09\nL2,1,2026-04-09\n');
    for (const each of [path, later]) await desk.document('outcomes', 'import', organisation, each);
    expect((await stored()).map(([, , at]) => at)).to.deep.equal(['2026-03-03T00:00', '2026-03-03T00:00']);
    await desk.document('outcomes', 'import', organisation, later, '--correct-dates');
    expect((await stored()).map(([, , at]) => at)).to.deep.equal(['2026-04-09T00:00', '2026-04-09T00:00']);
  });

  it('outcomes import reads a gzipped file with semicolons and named columns', async () => {
    const text = 'Lead ID;Won;"Closed on"\n"a;b";yes;2026-01-02\nc;lost;2026-01-03\n';
    const path = await write('won.csv.gz', gzipSync(text));
    const columns = ['--crm-id', 'Lead ID', '--converted', 'won', '--at', 'Closed on'];
    const report = await desk.document('outcomes', 'import', organisation, path, ...columns);
    expect(report).to.include({ accepted: 2, converted: 1, refused: 0 });
    expect(await stored()).to.deep.equal([
      ['a;b', true, '2026-01-02T00:00'],
      ['c', false, '2026-01-03T00:00'],
    ]);
  });

  it('outcomes import reports repeated ids and the footer of a report, and the last row of a lead counts', async () => {
    const rows = 'L1,0\nL2,1\nL1,1\nN/A,1\n\nGenerated By: Ada,\n';
    const path = await write('report.csv', `CRM ID,Converted\n${rows}`);
    const { stdout } = await desk.run('outcomes', 'import', organisation, path, '--json');
    expect(JSON.parse(stdout)).to.deep.include({
      rows: 4,
      accepted: 3,
      refused: 1,
      problems: ['report.csv, line 5: "CRM ID" names no lead, but is "N/A"'],
      notes: [
        'Line 7 is the footer of a report and was passed over',
        '1 row has a crm_id that an earlier row has, such as "L1" in line 4. The last row of a lead counts, but of several conversions the earliest',
      ],
    });
    expect((await stored()).map(([crmId, converted]) => [crmId, converted])).to.deep.equal([
      ['L1', true],
      ['L2', true],
    ]);
  });

  it('outcomes import skips invalid rows, reports each with its line and exits with 1', async () => {
    const path = await write(
      'mixed.csv',
      'crm_id,converted,at\nL1,1,2026-03-01\n,1,2026-03-01\nL3,maybe,2026-03-01\nL4,1,\nL5,1,01/02/2026\nL6,0,\n',
    );
    const { exitCode, stdout } = await desk.run('outcomes', 'import', organisation, path, '--json');
    expect(exitCode).to.equal(1);
    const report = JSON.parse(stdout);
    expect(report).to.include({ rows: 6, accepted: 3, refused: 3 });
    expect(report.notes).to.deep.equal([
      '1 converted lead has no date. A conversion without a date counts from its first import',
    ]);
    expect(report.problems).to.deep.equal([
      'mixed.csv, line 3: "crm_id" is empty',
      `mixed.csv, line 4: "converted" must be ${words}, but is "maybe"`,
      'mixed.csv, line 6: "at" must be a date such as 2026-11-21 or 2026-11-21T14:05:00Z, but is "01/02/2026"',
    ]);
    expect((await stored()).map(([crmId]) => crmId)).to.deep.equal(['L1', 'L4', 'L6']);
    const readable = await desk.run('outcomes', 'import', organisation, path);
    expect(readable.stdout).to.include('Skipped').and.include('line 6');
  });

  it('outcomes import reports more than three rows with the same mistake in one sentence', async () => {
    const stages = ['Nurture', 'Qualified', '', 'Nurture'];
    const rows = [
      'L0,perhaps,',
      ...Array.from({ length: 300 }, (_, index) => `L${index},1,0${(index % 9) + 1}/02/2026`),
      ...stages.map((stage, index) => `M${index},${stage},`),
      ',1,',
      ',1,',
      ',1,',
    ];
    const path = await write('leads.csv', `crm_id,converted,at\n${rows.join('\n')}\n`);
    const { stdout } = await desk.run('outcomes', 'import', organisation, path, '--json');
    const problems = [
      `leads.csv, 5 rows, first in line 2: "converted" must be ${words}, but is "perhaps", "Nurture", "Qualified" or empty`,
      'leads.csv, 300 rows, first in line 3: "at" must be a date such as 2026-11-21 or 2026-11-21T14:05:00Z, but is "01/02/2026", "02/02/2026", "03/02/2026", "04/02/2026", "05/02/2026" or another value',
      ...[307, 308, 309].map((line) => `leads.csv, line ${line}: "crm_id" is empty`),
    ];
    expect(JSON.parse(stdout)).to.deep.include({ refused: 308, accepted: 0, problems });
    const readable = await desk.run('outcomes', 'import', organisation, path);
    expect(readable.stdout).to.match(/Skipped +308/);
    expect(readable.stdout.trimEnd().split('\n\n')[1]?.split('\n')).to.deep.equal(problems);
  });

  it('outcomes import accepts 1.0 and 0.0 and refuses other decimals', async () => {
    const cells = ['1.0', '0.0', '1.00', '0.5', '10', '1.'];
    const rows = cells.map((cell, index) => `L${index},${cell}`);
    const path = await write('pandas.csv', `crm_id,converted\n${rows.join('\n')}\n`);
    const { stdout } = await desk.run('outcomes', 'import', organisation, path, '--json');
    expect(JSON.parse(stdout)).to.include({ accepted: 3, converted: 2, refused: 3 });
    expect((await stored()).map((row) => row.slice(0, 2))).to.deep.equal([
      ['L0', true],
      ['L1', false],
      ['L2', true],
    ]);
  });

  describe('with the values of a stage', () => {
    const stages = ['Closed Won', ' closed won ', 'WON', 'Closed Lost', 'Negotiation', 'Deal, won', 'open', '', '1'];
    const rows = stages.map((stage, index) => `L${index},"${stage}"`);
    const importStages = async (...options: string[]) => {
      const path = await write('deals.csv', `crm_id,Stage\n${rows.join('\n')}\n`);
      return desk.run('outcomes', 'import', organisation, path, '--converted', 'Stage', ...options, '--json');
    };
    const converted = async () =>
      Object.fromEntries((await stored()).map(([crmId, isConverted]) => [crmId, isConverted]));

    it('--won-values names the won ones, and unknown ones are skipped and reported', async () => {
      const { exitCode, stdout } = await importStages('--won-values', 'Closed Won,Won', '--won-values', '"Deal, won"');
      expect(exitCode).to.equal(1);
      expect(await converted()).to.deep.equal({ L0: true, L1: true, L2: true, L5: true, L6: false });
      const rule =
        '"Stage" must be yes (Closed Won, Won, Deal, won) or no (0, false, no, n, f, off, lost, open), or a value of --won-values or --lost-values';
      const report = JSON.parse(stdout);
      expect(report).to.deep.include({ accepted: 5, converted: 4, refused: 4 }).and.not.have.property('notes');
      expect(report.problems).to.deep.equal([
        `deals.csv, 4 rows, first in line 5: ${rule}, but is "Closed Lost", "Negotiation", empty or "1"`,
      ]);
    });

    it('--lost-values names the lost ones instead of the usual words', async () => {
      const lost = 'closed lost, negotiation ,"Deal, won",1';
      await importStages('--won-values', 'closed won,won', '--lost-values', lost);
      expect(await converted()).to.deep.equal({
        ...{ L0: true, L1: true, L2: true },
        ...{ L3: false, L4: false, L5: false, L8: false },
      });
    });

    it('--others-lost counts every other value but an empty one as lost, and reports won values that no row has', async () => {
      const { stdout } = await importStages('--won-values', 'Closed Won,Signed', '--others-lost');
      const all = Object.fromEntries(
        stages.flatMap((stage, index) => (stage === '' ? [] : [[`L${index}`, index < 2]])),
      );
      expect(await converted()).to.deep.equal(all);
      expect(JSON.parse(stdout)).to.deep.include({
        refused: 1,
        problems: ['deals.csv, line 9: "Stage" must be yes (Closed Won, Signed) or another value, but is empty'],
        notes: ['No imported row has the value "Signed" of --won-values'],
      });
    });

    it('exits with 2 when a value means both, when the list is empty, and for --others-lost alone', async () => {
      for (const [options, why] of [
        [['--won-values', 'Won,Open', '--lost-values', 'open '], '"open" means won and not won'],
        [['--won-values', ' ,'], 'A list of values is empty'],
        [['--others-lost'], '--others-lost needs --won-values'],
      ] as const) {
        const { exitCode, stderr } = await importStages(...options);
        expect(exitCode).to.equal(2);
        expect(stderr).to.include(JSON.stringify(why).slice(1, -1));
      }
    });
  });

  it('outcomes import refuses a conversion more than 180 days in the future, but not an open lead', async () => {
    const inDays = (days: number) => new Date(Date.now() + days * dayMs).toISOString().slice(0, 10);
    const rows = [`L1,1,${inDays(182)}`, `L2,1,${inDays(179)}`, `L3,0,${inDays(500)}`, 'L4,0,next year'];
    const path = await write('ahead.csv', `crm_id,converted,at\n${rows.join('\n')}\n`);
    const { exitCode, stdout } = await desk.run('outcomes', 'import', organisation, path, '--json');
    expect(exitCode).to.equal(1);
    expect(JSON.parse(stdout).problems).to.deep.equal([
      `ahead.csv, line 2: "at" must be at most 180 days in the future for a converted lead, but is "${inDays(182)}"`,
    ]);
    expect((await stored()).map(([crmId]) => crmId)).to.deep.equal(['L2', 'L3', 'L4']);
  });

  it('outcomes import names the existing columns and the option when a column is missing', async () => {
    const path = await write('leads.csv', 'Prospect ID,Won\nL1,1\n');
    const { exitCode, stderr } = await desk.run('outcomes', 'import', organisation, path);
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('no column "crm_id"').and.include('--crm-id').and.include('"Prospect ID", "Won"');
    const other = await desk.run('outcomes', 'import', organisation, path, '--crm-id', 'Prospect ID');
    expect(other.stderr).to.include('no column "converted"').and.include('--converted');
    const third = await desk.run(
      ...['outcomes', 'import', organisation, path, '--crm-id', 'Prospect ID'],
      ...['--converted', 'Won', '--at', 'Closed'],
    );
    expect(third.stderr).to.include('no column "Closed"').and.include('--at');
  });

  it('outcomes import changes nothing of rows that an interrupted run has stored, and leaves no file', async () => {
    const rows = Array.from({ length: 2500 }, (_, index) => `L${String(index).padStart(4, '0')},0`);
    const path = await write('many.csv', `crm_id,converted\n${rows.join('\n')}\n`);
    expect(await desk.document('outcomes', 'import', organisation, path)).to.include({ rows: 2500, accepted: 2500 });
    await collection().deleteMany({ org: organisation, crm_id: { $gte: 'L1000' } });
    const before = await collection().find({ org: organisation }).sort({ crm_id: 1 }).toArray();
    expect(await desk.document('outcomes', 'import', organisation, path)).to.include({ rows: 2500, accepted: 2500 });
    const after = await collection().find({ org: organisation }).sort({ crm_id: 1 }).toArray();
    expect(after).to.have.length(2500);
    expect(after.slice(0, 1000)).to.deep.equal(before);
    expect((await readdir(directory)).filter((name) => name.startsWith('many'))).to.deep.equal(['many.csv']);
  });

  it('outcomes import requests one grading, also when it runs twice', async () => {
    const path = await write('won.csv', 'crm_id,converted\nL1,1\n');
    await desk.run('outcomes', 'import', organisation, path);
    await desk.run('outcomes', 'import', organisation, path);
    const queue = new Queue(gradingQueueName, { connection: desk.redis, prefix: queuePrefix });
    const jobs = await queue.getJobs(['waiting']);
    await queue.close();
    const own = jobs.filter((job) => job.data.organisationId === organisation);
    expect(own.map(({ name, data }) => [name, data])).to.deep.equal([
      ['grade-organisation', { organisationId: organisation }],
    ]);
  });

  it('outcomes import refuses JSONL, a missing file, an unknown organisation and an empty file', async () => {
    const jsonl = await write('won.jsonl', '{}');
    expect((await desk.run('outcomes', 'import', organisation, jsonl)).exitCode).to.equal(2);
    const nowhere = join(directory, 'nowhere.csv');
    expect((await desk.run('outcomes', 'import', organisation, nowhere)).stderr).to.include(
      `Cannot read ${nowhere}: no such file`,
    );
    const path = await write('won.csv', 'crm_id,converted\nL1,1\n');
    expect((await desk.run('outcomes', 'import', 'org_x', path)).stderr).to.include('no organisation org_x');
    const empty = await write('empty.csv', '');
    expect((await desk.run('outcomes', 'import', organisation, empty)).stderr).to.include('is empty');
  });
});
