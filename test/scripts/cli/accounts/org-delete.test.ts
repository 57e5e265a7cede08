import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { expect } from 'chai';
import { projectFile } from '../../../../shared/process/project-root.js';
import { markdownBlocks } from '../../../support/markdown-blocks.js';
import { callCli } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

describe('leadscore org delete', () => {
  let desk: OperatorDesk;
  let id: string;

  before(async () => {
    desk = await operatorDesk();
  });
  beforeEach(async () => {
    id = await desk.newOrganisation();
  });
  after(() => desk.leave());

  const deletionOf = async () =>
    (await desk.document('org', 'show', id)).deletion as { requested_at: string; due_at: string } | undefined;
  const ordered = async () => {
    const { requested_at, due_at } = (await deletionOf()) ?? {};
    return { requested_at, due_at };
  };
  const inDays = (at: string | undefined): number => (Date.parse(String(at)) - Date.now()) / 86_400_000;

  it('asks for the name on a terminal, and changes nothing when another one is typed', async () => {
    for (const typed of ['acme\n', '\n', '']) {
      const { exitCode, stderr } = await callCli(['org', 'delete', id], desk.settings, typed);
      expect(exitCode, typed).to.equal(2);
      expect(stderr).to.include(`All data of Acme (${id}) goes from `).and.include('type its name: ');
      expect(stderr).to.match(/othing was changed/);
      expect(await deletionOf()).to.equal(undefined);
    }
    const { exitCode, stdout } = await callCli(['org', 'delete', id, '--after', '3'], desk.settings, 'Acme\n');
    expect(exitCode).to.equal(0);
    expect(stdout).to.match(/To be deleted +from .* UTC on \(calls get 401\)/);
    expect(stdout).to.include(`To take it back: npx leadscore org undelete ${id}`);
    expect(inDays((await deletionOf())?.due_at)).to.be.closeTo(3, 0.01);
  });

  it('takes the name from --name in a script, and needs it', async () => {
    const without = await desk.run('org', 'delete', id);
    expect(without.exitCode).to.equal(2);
    expect(without.stderr).to.include('Give --name with the name of the organisation');
    const wrong = await desk.run('org', 'delete', id, '--name', 'Beta');
    expect(wrong.exitCode).to.equal(2);
    expect(wrong.stderr).to.include('--name is not the name of this organisation. Nothing was changed');
    expect(await deletionOf()).to.equal(undefined);
    await desk.document('org', 'delete', id, '--name', 'Acme');
    await desk.announced({ kind: 'organisation', id });
    expect(inDays((await deletionOf())?.due_at)).to.be.closeTo(7, 0.01);
  });

  it('is shown by org list, refuses a second one and other commands, and undelete ends it', async () => {
    const before = await desk.document('org', 'show', id);
    await desk.document('org', 'delete', id, '--name', 'Acme');
    expect((await desk.run('org', 'list')).stdout).to.match(new RegExp(`${id} .*to be deleted`));
    for (const words of [
      ['org', 'delete', id, '--name', 'Acme'],
      ['org', 'set', id, '--policy', 'block'],
      ['key', 'create', id],
    ]) {
      const { exitCode, stderr } = await desk.run(...words);
      expect(exitCode).to.equal(1);
      expect(stderr).to.include(`The organisation ${id} is to be deleted: its data goes from `);
      expect(stderr).to.include('npx leadscore org undelete ORG');
    }
    const { deletions } = await desk.document('org', 'receipts');
    expect(deletions).to.deep.include({ org_id: id, state: 'pending', by: userInfo().username, ...(await ordered()) });
    expect((await desk.run('org', 'receipts')).stdout).to.match(new RegExp(`${id} +to be deleted`));
    expect((await desk.run('org', 'receipts', id)).stdout).to.match(/State +to be deleted\n/);
    expect(await desk.document('org', 'undelete', id)).to.deep.equal(before);
    expect((await desk.run('org', 'receipts', id)).exitCode).to.equal(1);
  });

  it('is done by the commands of the manual', async () => {
    const manual = await readFile(projectFile('docs/operating.md'), 'utf8');
    const blocks = markdownBlocks(manual).filter(({ heading }) => heading === 'Deleting an organisation');
    const commands = blocks.flatMap(({ text }) => text.trim().split('\n'));
    expect(commands.length).to.be.at.least(4);
    for (const command of commands) {
      const words = command.match(/"[^"]*"|\S+/g)?.map((word) => word.replaceAll('"', '')) ?? [];
      expect(words.slice(0, 2)).to.deep.equal(['npx', 'leadscore']);
      const { exitCode, stderr } = await desk.run(...words.slice(2).map((word) => (word === 'ORG' ? id : word)));
      expect(exitCode, `${command}: ${stderr}`).to.equal(0);
    }
    expect(await deletionOf()).to.equal(undefined);
  });
});
