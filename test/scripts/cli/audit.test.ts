import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { AuditLog } from '../../../shared/store/console/audit-log.js';
import { type OperatorDesk, operatorDesk } from './operator-desk.js';

interface Entry {
  readonly at: string;
  readonly action: string;
  readonly actor: { readonly way: string };
  readonly target: string | null;
  readonly after?: object;
}

describe('leadscore audit', () => {
  let desk: OperatorDesk;
  let directory: string;
  let organisation: string;
  let key: string;

  before(async () => {
    desk = await operatorDesk();
    directory = await mkdtemp(join(tmpdir(), 'leadscore-audit-'));
    organisation = await desk.newOrganisation();
    key = String((await desk.document('key', 'create', organisation, '--name', 'HubSpot')).key_id);
    await desk.document('key', 'revoke', key);
  });

  after(async () => {
    await desk.leave();
    await rm(directory, { recursive: true, force: true });
  });

  /** The entries that a command prints as JSON lines. */
  async function entries(...words: string[]): Promise<Entry[]> {
    const { exitCode, stdout, stderr } = await desk.run('audit', ...words, '--json');
    expect(exitCode, stderr).to.equal(0);
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Entry);
  }

  const actions = async (...words: string[]) => (await entries(...words)).map(({ action }) => action);

  it('lists the changes of an organisation, latest first, as a table and as JSON lines', async () => {
    expect(await actions(organisation)).to.deep.equal(['key.revoke', 'key.create', 'org.create']);
    const { stdout } = await desk.run('audit', organisation);
    const [title = '', ...rows] = stdout.split('\n').filter((line) => line.trim() !== '');
    expect(title).to.match(/At \(UTC\).*Change.*Object/);
    const table = rows.join('\n').replaceAll(/\s+/g, ' ');
    expect(table).to.include(key).and.include('command line');
    expect(table).to.include('revoked the key HubSpot');
  });

  it('chooses by action, time, person and number', async () => {
    expect(await actions(organisation, '--action', 'key.create')).to.deep.equal(['key.create']);
    expect(await actions(organisation, '--limit', '2')).to.deep.equal(['key.revoke', 'key.create']);
    expect(await actions(organisation, '--kind', 'key')).to.deep.equal(['key.revoke', 'key.create']);
    const [latest] = await entries(organisation);
    expect(await actions(organisation, '--since', String(latest?.at).slice(0, 10))).to.include('key.revoke');
    expect(await actions(organisation, '--since', '2999-01-01')).to.deep.equal([]);
    expect(await actions(organisation, '--until', '2020-01-01')).to.deep.equal([]);
    expect(await actions(organisation, '--person', 'someone else')).to.deep.equal([]);
    const none = await desk.run('audit', organisation, '--person', 'someone else');
    expect(none.stdout).to.equal('No entries.\n');
  });

  it('reads as many pages as there are', async () => {
    const other = await desk.newOrganisation();
    const log = new AuditLog(desk.stores.database);
    const actor = { name: 'Ada', way: 'command line' as const };
    for (let hour = 0; hour < 120; hour += 1) {
      const at = new Date(Date.UTC(2026, 0, 1, hour));
      await log.append({ org: other, at, actor, action: 'key.set', request_id: String(hour) }, undefined);
    }
    const listed = await entries(other, '--limit', '1000', '--action', 'key.set', '--person', 'Ada');
    const times = listed.map(({ at }) => at);
    expect(times)
      .to.deep.equal([...times].sort().reverse())
      .and.have.length(120);
    const middle = ['--since', '2026-01-02', '--until', '2026-01-03', '--action', 'key.set'];
    expect(await entries(other, ...middle)).to.have.length(48);
    expect(await entries(other, '--limit', '70')).to.have.length(70);
  });

  it('prints all entries that match as CSV, with the same sentences, and no formula', async () => {
    const other = await desk.newOrganisation();
    await desk.document('key', 'create', other, '--name', '=HYPERLINK("x")');
    const log = new AuditLog(desk.stores.database);
    const actor = { name: '=Ada', way: 'command line' as const };
    const entry = { org: other, actor, action: 'org.resume', request_id: 'r' };
    for (let minute = 0; minute < 120; minute += 1)
      await log.append({ ...entry, at: new Date(Date.UTC(2026, 0, 1, 0, minute)) }, undefined);
    const { exitCode, stdout } = await desk.run('audit', other, '--csv');
    expect(exitCode).to.equal(0);
    const [head, ...lines] = stdout.trimEnd().split('\n');
    expect(head).to.match(/^at,person,way,address,sentence,reason,action,object,/);
    expect(lines).to.have.length(122);
    expect(lines[0]).to.include('created the live key =HYPERLINK(""x"")').and.include(`"'=HYPERLINK(""x"")"`);
    expect(lines[121]).to.include(",'=Ada,command line,,'=Ada ended the suspension of the organisation,");
    const some = await desk.run('audit', other, '--csv', '--kind', 'org', '--limit', '7');
    expect(some.stdout.trimEnd().split('\n')).to.have.length(8);
    const both = await desk.run('audit', other, '--csv', '--json');
    expect(both.exitCode).to.equal(2);
    expect(both.stderr).to.include('Give --csv or --json');
  });

  it('lists the entries of no organisation with --operator, among them those of commands', async () => {
    await desk.document('console', 'token', 'create', '--name', 'billing');
    await desk.document('migrate', '--again');
    const file = join(directory, 'changes.jsonl');
    await desk.document('restore', 'export', file);
    await desk.document('restore', 'finish', file);
    const listed = await entries('--operator');
    expect(listed.map(({ action }) => action)).to.deep.equal(['restore.finish', 'schema.migrate', 'token.create']);
    expect(listed[0]?.after).to.include({ erasures: 0, revocations: 1, leads_erased: 0 });
  });

  it('lists a file of outcomes and a grade that a command has made', async () => {
    const other = await desk.newOrganisation();
    const file = join(directory, 'outcomes.csv');
    await writeFile(file, 'crm_id,converted\nL-1,1\nL-2,0\n');
    await desk.document('outcomes', 'import', other, file);
    const bundle = await desk.writeBundle();
    const model = String((await desk.document('model', 'import', bundle, '--org', other)).model_id);
    await desk.document('validation', 'run', model);
    const [run, imported, outcomes] = await entries(other);
    expect(run).to.deep.include({ action: 'validation.run', target: model, after: { versions: 1 } });
    expect(imported?.action).to.equal('model.import');
    expect(outcomes).to.deep.include({ action: 'outcomes.import', after: { rows: 2, accepted: 2, converted: 1 } });
    expect(outcomes?.actor.way).to.equal('command line');
    expect(JSON.stringify(outcomes)).to.not.include('L-1');
  });

  it('refuses to list both or neither, and an unknown organisation', async () => {
    for (const words of [[], [organisation, '--operator']]) {
      const { exitCode, stderr } = await desk.run('audit', ...words);
      expect(exitCode).to.equal(2);
      expect(stderr).to.include('Name an organisation, or give --operator');
    }
    const { exitCode, stderr } = await desk.run('audit', 'org_0000000000000000');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('org list');
  });
});
