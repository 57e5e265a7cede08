import { expect } from 'chai';
import type { CoverageDocument } from '../../../scripts/cli/commands/models/show-coverage.js';
import { dayNumber, dayText } from '../../../shared/contract/dates.js';
import { readingKinds } from '../../../shared/messages/score-job.js';
import { FieldDayStore, type FieldSums } from '../../../shared/store/models/field-days.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

/** Slots of the sample model: company_size, demo_requested, lead_source. */
type Counts = Readonly<Partial<Record<(typeof readingKinds)[number], number>>>;

describe('leadscore model coverage', () => {
  let desk: OperatorDesk;
  /** Read for each test: midnight may pass between the load of this file and a test. */
  let today: number;

  beforeEach(() => {
    today = dayNumber(Date.now());
  });
  before(async () => {
    desk = await operatorDesk();
  });
  after(() => desk.leave());

  /** A model, and what was read of its fields on some days before today. */
  async function modelWith(
    days: readonly {
      readonly ago: number;
      readonly records: number;
      readonly slots?: readonly Counts[];
      readonly values?: Readonly<Record<string, number>>;
    }[],
  ): Promise<string> {
    const org = await desk.newOrganisation();
    const { model_id: model } = await desk.document('model', 'import', await desk.writeBundle(), '--org', org);
    const sums = days.map(({ ago, records, slots = [], values = {} }): FieldSums => {
      const counts = slots.map((each, slot) => [slot, readingKinds.map((kind) => each[kind] ?? 0)] as const);
      const owner = { org, model: String(model), version: '1.0.0' };
      return {
        ...{ ...owner, day: today - ago, records, counts: new Map(counts) },
        values: new Map([[2, new Map(Object.entries(values))]]),
      };
    });
    await new FieldDayStore(desk.stores.database).add(sums);
    return String(model);
  }

  const shown = async (...words: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await desk.run('model', ...words);
    expect(exitCode, stderr).to.equal(0);
    return stdout;
  };
  const lineOf = (text: string, name: string): string =>
    text
      .split('\n')
      .find((line) => line.startsWith(name))
      ?.replaceAll(/ {2,}/g, '  ') ?? '';
  const coverageOf = async (model: string): Promise<string> =>
    lineOf((await shown('show', model)).replaceAll(/\n {2,}/g, ' '), 'Coverage');

  it('shows for each field what was sent, unread and unseen, by day, with the commonest unseen values', async () => {
    const slots = [{ unread: 4 }, { missing: 50, filled: 25 }, { missing: 20, unseen: 80 }];
    const values = { SaaS: 70, '\u001b[31mred\u202e': 9, Fintech: 1 };
    const model = await modelWith([
      { ago: 1, records: 100, slots: [{}, { missing: 50, filled: 25 }, { missing: 20 }] },
      { ago: 0, records: 100, slots, values },
    ]);
    const text = await shown('coverage', model);
    expect(text).to.include('Records  200,');
    expect(lineOf(text, 'company_size')).to.equal('company_size  100 %  2 %  ·····██');
    expect(lineOf(text, 'demo_requested')).to.equal('demo_requested  25 %  25 %  ·····▅▅');
    expect(lineOf(text, 'lead_source')).to.match(/^lead_source {2}80 % {2}50 % {2}·····▇▇ {2}SaaS 70,/);
    expect(text).to.include('Needs attention:\n  lead_source unseen in 50 % (SaaS)\n');
    for (const sign of ['\u001b', '\u202e']) expect(text).to.not.include(sign);
    const { stdout } = await desk.run('model', 'coverage', model, '--days', '2', '--json');
    const document: CoverageDocument = JSON.parse(stdout);
    expect(document.days).to.deep.equal([
      { day: dayText(today - 1), records: 100 },
      { day: dayText(today), records: 100 },
    ]);
    expect(document.fields[2]).to.deep.include({ sent: 160, missing: 40, unseen: 80 });
    expect(document.attention).to.deep.equal(['lead_source unseen in 50 % (SaaS)']);
    expect(await shown('coverage', model, '--days', '90')).to.include('············█');
  });

  it('has a line in model show: nothing scored, all as usual, or the fields that need attention', async () => {
    expect(await coverageOf(await modelWith([]))).to.equal('Coverage  last 7 days: no records');
    const usual = [{ missing: 300 }, { missing: 1_000 }, { unseen: 50, unread: 20 }];
    const well = await modelWith([
      { ago: 6, records: 6_000, slots: usual },
      { ago: 0, records: 6_300, slots: usual },
      { ago: 7, records: 9, slots: [{ unread: 9 }] },
    ]);
    expect(await coverageOf(well)).to.equal('Coverage  last 7 days: 12,300 records; all fields as usual');
    const ill = await modelWith([
      { ago: 1, records: 900, slots: [{ missing: 45 }, { missing: 900 }], values: { SaaS: 100, Other: 80 } },
      { ago: 0, records: 100, slots: [{ missing: 97 }, { missing: 100 }, { unseen: 180, unread: 100 }] },
    ]);
    expect(await coverageOf(ill)).to.equal(
      'Coverage  last 7 days: 1,000 records; demo_requested sent in 0 %, company_size in 3 % on ' +
        `${dayText(today)}, in 95 % before, lead_source unseen in 18 % (SaaS), lead_source unread in 10 %`,
    );
  });

  it('says that nothing was scored, and refuses an unknown version and impossible days', async () => {
    const model = await modelWith([]);
    expect(await shown('coverage', model)).to.include('No record of a live key was scored with this version');
    expect(await desk.run('model', 'coverage', model, '--version', 'none')).to.include({ exitCode: 1 });
    expect(await desk.run('model', 'coverage', model, '--days', '0')).to.include({ exitCode: 2 });
  });
});
