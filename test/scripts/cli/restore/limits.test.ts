import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { callCli } from '../cli-call.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

describe('leadscore restore, for limits of keys and suspensions', () => {
  let desk: OperatorDesk;
  let directory: string;
  let file: string;

  before(async () => {
    desk = await operatorDesk();
    directory = await mkdtemp(join(tmpdir(), 'leadscore-limits-'));
    file = join(directory, 'changes.jsonl');
  });
  after(async () => {
    await desk.leave();
    await rm(directory, { recursive: true });
  });
  beforeEach(async () => {
    for (const name of ['api_keys', 'orgs']) await desk.stores.database.collection(name).deleteMany({});
  });

  const newKey = async (organisation: string, ...limits: string[]) =>
    String((await desk.document('key', 'create', organisation, ...limits)).key_id);
  /** Takes keys and organisations back to their state before `work`, as a restore from a backup does. */
  async function restoredAfter(work: () => Promise<unknown>): Promise<void> {
    const collections = ['api_keys', 'orgs'].map((name) => desk.stores.database.collection(name));
    const copies = await Promise.all(collections.map((each) => each.find().toArray()));
    await work();
    expect((await callCli(['restore', 'export', file], desk.settings)).exitCode).to.equal(0);
    for (const [index, each] of collections.entries()) {
      await each.deleteMany({});
      const copy = copies[index] ?? [];
      if (copy.length > 0) await each.insertMany(copy);
    }
  }
  const finish = () => desk.document('restore', 'finish', file);
  const limitsOf = async (key: string) => {
    const { scopes, expires_at: expires } = (await desk.stores.keys.find(key)) ?? {};
    return [scopes, expires?.toISOString().slice(0, 10)];
  };

  it('takes scopes and days from a key that had fewer, and gives none', async () => {
    const organisation = await desk.newOrganisation();
    const open = await newKey(organisation);
    const limited = await newKey(organisation, '--scopes', 'score,read,jobs', '--expires', '2090-06-30');
    const [other, wider, untouched] = [
      await newKey(organisation, '--scopes', 'read'),
      await newKey(organisation, '--scopes', 'score', '--expires', '2090-06-30'),
      await newKey(organisation, '--scopes', 'score'),
    ];
    await restoredAfter(async () => {
      await desk.document('key', 'set', open, '--scopes', 'score', '--expires', '2089-06-30');
      await desk.document('key', 'set', limited, '--scopes', 'score,erase', '--expires', '2089-06-30');
      await desk.document('key', 'set', other, '--scopes', 'score');
      await desk.document('key', 'set', wider, '--scopes', 'score,read', '--expires', '2091-06-30');
    });
    expect(await limitsOf(open)).to.deep.equal([undefined, undefined]);
    expect(await finish()).to.deep.include({ key_limits: 3, revocations: 0 });
    expect(await limitsOf(open)).to.deep.equal([['score'], '2089-07-01']);
    expect(await limitsOf(limited)).to.deep.equal([['score'], '2089-07-01']);
    expect(await limitsOf(other), 'none of its scopes was left').to.deep.equal([['score'], undefined]);
    expect(await limitsOf(wider)).to.deep.equal([['score'], '2090-07-01']);
    expect(await limitsOf(untouched)).to.deep.equal([['score'], undefined]);
    expect(await finish(), 'run again').to.deep.include({ key_limits: 0 });
  });

  it('suspends an organisation again that was suspended, with the reason, and ends no suspension', async () => {
    const [suspended, resumed, open] = [
      await desk.newOrganisation(),
      await desk.newOrganisation(),
      await desk.newOrganisation(),
    ];
    await desk.document('org', 'suspend', resumed, '--reason', 'paid late');
    await restoredAfter(async () => {
      await desk.document('org', 'suspend', suspended, '--reason', 'not paid');
      await desk.document('org', 'resume', resumed);
    });
    expect(await finish()).to.deep.include({ suspensions: 1 });
    const suspensionOf = async (id: string) => (await desk.stores.organisations.find(id))?.suspended;
    expect(await suspensionOf(suspended)).to.deep.include({ reason: 'not paid' });
    expect(await suspensionOf(resumed), 'as the backup has it').to.deep.include({ reason: 'paid late' });
    expect(await suspensionOf(open)).to.equal(undefined);
    expect(await finish()).to.deep.include({ suspensions: 0 });
  });

  it('counts what the file lists, and leaves keys and organisations alone that the backup does not have', async () => {
    const [organisation, gone] = [await desk.newOrganisation(), await desk.newOrganisation()];
    const key = await newKey(organisation);
    await restoredAfter(async () => {
      await newKey(organisation, '--scopes', 'score');
      await desk.document('key', 'revoke', await newKey(organisation, '--scopes', 'read'));
      await desk.document('org', 'suspend', gone, '--reason', 'not paid');
    });
    const lines = (await readFile(file, 'utf8')).trim().split('\n');
    expect(lines).to.have.length(3);
    await desk.stores.database.collection<{ _id: string }>('orgs').deleteOne({ _id: gone });
    expect(await finish()).to.deep.include({ revocations: 0, key_limits: 0, suspensions: 0 });
    expect(await limitsOf(key)).to.deep.equal([undefined, undefined]);
  });

  it('names the line of a limit or suspension that is not whole', async () => {
    const at = '2026-03-01T00:00:00Z';
    for (const wrong of [
      { limited: 'key_x', at, expires_at: 'soon' },
      { limited: 'key_x', at, scopes: ['everything'] },
      { suspended: 'org_x', at, by: 'Olga' },
    ]) {
      await writeFile(file, `${JSON.stringify({ revoked: 'key_x', at })}\n${JSON.stringify(wrong)}\n`);
      const { exitCode, stderr } = await callCli(['restore', 'finish', file], desk.settings);
      expect([exitCode, stderr.includes(`${file}, line 2 `)]).to.deep.equal([1, true]);
    }
  });
});
