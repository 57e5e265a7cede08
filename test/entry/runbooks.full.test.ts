import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createOrganisation } from '../../shared/admin/organisations/change-organisations.js';
import { createKey } from '../../shared/admin/organisations/key-actions.js';
import { createToken } from '../../shared/admin/people/access-actions.js';
import { addMember } from '../../shared/admin/people/member-actions.js';
import { projectFile } from '../../shared/process/project-root.js';
import { KeySettingsStore } from '../../shared/store/accounts/key-settings.js';
import { type AdminDesk, adminDesk } from '../support/admin/admin-desk.js';
import { type FilledOrganisation, filledOrganisation } from '../support/admin/filled-organisation.js';
import { markdownBlocks } from '../support/markdown-blocks.js';
import { runCommands } from '../support/run-program.js';

const limitMs = 60_000;
/** Runs the command line of this tree where a document says `npx leadscore`. */
const npx = 'npx() { shift; node "$LEADSCORE_MAIN" "$@"; }';
/** Ids that stand in examples, by their placeholder. */
const examples = { org_4fzyo82mVYHgQ1bT: 'ORG', '00Q5g00000AbCdEEAV': 'CRM_ID' };

type Ids = Readonly<Record<string, string>>;

describe('the runbooks of the manual', function () {
  this.timeout(10 * limitMs);
  let desk: AdminDesk;
  let filled: FilledOrganisation;
  let directory: string;
  let operating: string;

  before(async () => {
    desk = await adminDesk();
    filled = await filledOrganisation(desk);
    directory = await mkdtemp(join(tmpdir(), 'leadscore-runbooks-'));
    operating = await readFile(projectFile('docs/operating.md'), 'utf8');
  });
  after(async () => {
    await desk.leave();
    await rm(directory, { recursive: true });
  });

  /** The commands of a section, one a line, also those of blocks inside a list. */
  function commandsOf(manual: string, section: string): string[] {
    const blocks = markdownBlocks(manual.replaceAll(/^ +(?=```|npx )/gm, ''));
    const own = blocks.filter(({ heading, language }) => heading === section && language === 'sh');
    const lines = own.flatMap(({ text }) => text.trim().split('\n'));
    expect(lines, section).to.not.deep.equal([]);
    return lines;
  }
  /** Runs a command of a document by a shell in the folder. @returns what it printed */
  async function run(command: string, ids: Ids, settings: Ids = {}): Promise<string> {
    let line = command;
    for (const [example, placeholder] of Object.entries(examples)) line = line.replaceAll(example, placeholder);
    for (const [placeholder, id] of Object.entries(ids))
      line = line.replaceAll(new RegExp(`(?<= )${placeholder}\\b`, 'g'), `'${id}'`);
    const environment = {
      ...{ REDIS_URL: desk.redisUrl, MONGODB_URL: desk.mongoUrl, KEY_PEPPER: 'pepper-of-the-tests' },
      ...{ KEY_PEPPER_PREVIOUS: undefined, KEY_BRAND: undefined, CLOCK_OFFSET_MS: undefined, ...settings },
      LEADSCORE_MAIN: projectFile('dist/scripts/cli/main.js'),
    };
    const options = { directory, environment, limitMs };
    const { exitCode, output } = await runCommands(`${npx}\n${line}`, options);
    // A mistake that it finds here is one of this machine, such as a full disk.
    const expected = command === 'npx leadscore doctor' ? [0, 1] : [0];
    expect(exitCode, `${line}\n${output}`).to.be.oneOf(expected);
    if (exitCode !== 0) expect(output).to.not.match(/^Error/m);
    return output;
  }
  async function runSection(section: string, ids: Ids, settings?: Ids, manual = operating): Promise<string[]> {
    const printed: string[] = [];
    for (const command of commandsOf(manual, section)) printed.push(await run(command, ids, settings));
    return printed;
  }
  const documents = (name: string, filter: object) => desk.database.collection(name).find(filter).toArray();

  it('are all named by the table of days, with commands that a test runs', () => {
    const table = operating.slice(operating.indexOf('## Runbooks'), operating.indexOf('## Settings'));
    const sections = [...table.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, title, target]) => [title, target]);
    expect(sections.map(([title]) => title)).to.deep.equal([
      ...['upgrade', 'A person who leaves', 'A leaked key', 'A new pepper without void keys'],
      ...['Suspending an organisation', 'An organisation that leaves', 'Deleting an organisation'],
      ...['A person who asks', 'An auditor who asks', 'Retention', 'A restore'],
    ]);
  });

  it('on an upgrade end with a database that this release can use', async () => {
    const upgrade = await readFile(projectFile('docs/upgrade.md'), 'utf8');
    await runSection('Before', {}, {}, upgrade);
    const printed = await runSection('The database', {}, {}, upgrade);
    expect(printed.join('')).to.include('as this release needs. There is nothing to do');
    expect(printed.at(-1)).to.include('The database has nothing that only earlier releases use');
  });

  it('on a leaked key find it, take its scopes away, make another one and revoke it', async () => {
    const { key_id: key, secret } = await desk.act(createKey, { org_id: filled.id, name: 'Leaked' });
    await writeFile(join(directory, 'leaked.txt'), `LEADSCORE_KEY=${secret}\n`);
    const [found, ...others] = await runSection('A leaked key', { ORG: filled.id, KEY: key });
    expect(found).to.include(key).and.not.include(secret);
    expect(others.at(-1)).to.match(/revoked/);
    const keys = await documents('api_keys', { organisation_id: filled.id });
    expect(keys.find(({ _id }) => String(_id) === key)).to.deep.include({ scopes: ['score'] });
    expect(keys.find(({ _id }) => String(_id) === key)).to.have.property('revoked_at');
    expect(keys.find(({ name }) => name === 'HubSpot, second key')).to.deep.include({ scopes: ['score'] });
  });

  it('on a person who leaves end the membership and the tokens', async () => {
    const email = 'ada@example.com';
    const { member_id: member } = await desk.act(addMember, { org_id: filled.id, email, role: 'admin' });
    const { token_id: token } = await desk.act(createToken, { name: 'of Ada' });
    await runSection('A person who leaves', { ORG: filled.id, MEMBER: member, TOKEN: token });
    expect(await documents('console_members', { org: filled.id })).to.deep.equal([]);
    expect(await run('npx leadscore console token list', {})).to.not.include(token);
  });

  it('on a person who asks and on an auditor print scores, and who read them', async () => {
    const ids = { ORG: filled.id, CRM_ID: filled.crmId };
    await runSection('A person who asks', ids);
    const person = JSON.parse(await readFile(join(directory, 'person.json'), 'utf8'));
    expect(person.scores).to.have.length(3);
    const printed = await runSection('An auditor who asks', ids);
    expect(printed[1]).to.include('exported all');
    expect(await readFile(join(directory, 'audit.csv'), 'utf8'))
      .to.include('lead.export')
      .and.not.include(filled.crmId);
    const operator = (await readFile(join(directory, 'operator.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(operator.map((line) => JSON.parse(line).action)).to.include('token.create');
  });

  it('on a customer suspend, resume, export and delete the organisation, and take the deletion back', async () => {
    const { org_id: acme } = await desk.act(createOrganisation, { name: 'Acme', plan: 'pro' });
    await runSection('Suspending an organisation', { ORG: acme });
    await runSection('An organisation that leaves', { ORG: filled.id });
    expect((await stat(join(directory, 'acme.tar.gz'))).size).to.be.above(1_000);
    const printed = await runSection('Deleting an organisation', { ORG: acme });
    expect(printed.join('')).to.include('To be deleted');
    const [organisation] = await documents('orgs', { name: 'Acme' });
    expect(organisation).to.not.have.any.keys('suspended', 'deletion');
  });

  it('on the retention compare the settings of processes', async () => {
    await runSection('Retention', {});
  });

  it('on a new pepper count the keys, and end when no key in use lacks it', async () => {
    const { database, redisUrl, mongoUrl, act, leave } = await adminDesk();
    try {
      const { org_id: org } = await act(createOrganisation, { name: 'Beta', plan: 'pro' });
      const settings = { REDIS_URL: redisUrl, MONGODB_URL: mongoUrl };
      await run('npx leadscore key create ORG --name Unused', { ORG: org }, settings);
      const [pepper, previousPepper] = ['a new pepper of the tests', 'pepper-of-the-tests'];
      await new KeySettingsStore(database).begin({ brand: 'leadscore', pepper, previousPepper });
      const both = { ...settings, KEY_PEPPER: pepper, KEY_PEPPER_PREVIOUS: previousPepper };
      const [counted, ended] = await runSection('A new pepper without void keys', {}, both);
      expect(counted).to.include('Unused');
      expect(ended).to.include('All keys have the new pepper alone');
      expect(await run('npx leadscore key pepper', {}, both)).to.include('No pepper is being rolled out');
    } finally {
      await leave();
    }
  });
});
