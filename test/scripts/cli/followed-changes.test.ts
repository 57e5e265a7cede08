import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Command } from 'commander';
import type { ChangeStreamDocument } from 'mongodb';
import { Connections } from '../../../scripts/cli/context/connections.js';
import { createProgram } from '../../../scripts/cli/program.js';
import { readOperatorConfig } from '../../../shared/config/config.js';
import { eventually } from '../../support/eventually.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { testServers } from '../../support/service/servers.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import type { UsableKey } from '../../support/service/workspace-parts.js';
import { callCli } from './cli-call.js';

const followMs = 5_000;
/** A slow machine runs the command within this time. */
const beforeExpiryMs = 5_000;

/** Commands that change nothing that a gateway caches. New organisations and keys are in no cache. */
const others = [
  ...[
    'org create',
    'org show',
    'org list',
    'org export',
    'org receipts',
    'key create',
    'key list',
    'key find',
    // With --finish and --undo it needs Redis: see test/http/start/pepper-roll-out.test.ts.
    'key pepper',
    'model list',
    'model show',
    'model compare',
    'model coverage',
    'model check',
  ],
  ...[
    'audit',
    'status',
    'doctor',
    'migrate',
    'lead-index',
    'usage show',
    'usage refused',
    'usage reconcile',
    'lead export',
    'outcomes import',
    'validation show',
    'validation simulate',
    'restore export',
  ],
  ...['console member list', 'console member add', 'console member set', 'console member remove'],
  ...['console login', 'console token create', 'console token list', 'console token revoke', 'score', 'shard'],
  // It adds a model as `model import` does.
  'train',
  ...['job create', 'job list', 'job show', 'job pause', 'job resume', 'job cancel', 'job delete', 'job results'],
];

/** The collections that gateways cache, and the writes that need no entry in the change log. */
const cached: Readonly<Record<string, (event: ChangeStreamDocument) => boolean>> = {
  orgs: ({ operationType }) => operationType === 'insert',
  api_keys: ({ operationType }) => operationType === 'insert',
  models: () => false,
  // The mark of the nightly check.
  model_validation: (event) =>
    event.operationType === 'update' &&
    Object.keys(event.updateDescription.updatedFields ?? {}).every((field) => field.startsWith('checked')),
};

interface Listed {
  readonly model_id: string;
  readonly validation: { readonly summary: string };
}

describe('a gateway that no announcement reaches', () => {
  let service: RunningService;
  let desk: TestWorkspace;
  let directory: string;
  let mongoUrl: string;
  let events: ChangeStreamDocument[];
  let stopWatching: () => Promise<void>;
  const ran: string[] = [];

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('disposable');
    directory = await mkdtemp(join(tmpdir(), 'leadscore-followed-'));
    desk = await workspace(service);
    const url = new URL((await testServers()).mongoUrl);
    url.pathname = service.stores.database.databaseName;
    mongoUrl = String(url);
    const stream = service.stores.database.watch();
    events = [];
    stream.on('change', (event) => events.push(event));
    stopWatching = () => stream.close();
    await new Promise((resolve) => stream.once('resumeTokenChanged', resolve));
  });
  after(async () => {
    await stopWatching?.();
    await rm(directory, { recursive: true, force: true });
  });

  /** Runs a command that does not know Redis. */
  async function run(...words: string[]): Promise<void> {
    ran.push(words.slice(0, 2).join(' '));
    const settings = { MONGODB_URL: mongoUrl, KEY_PEPPER: service.keyPepper };
    const { exitCode, stderr } = await callCli(words, settings);
    expect(exitCode, stderr).to.equal(0);
    if (words[0] !== 'validation') expect(stderr).to.include('REDIS_URL is not set; running gateways apply the change');
  }

  const read = async (path: string) => JSON.parse((await desk.call(path)).text);
  const models = async (): Promise<readonly Listed[]> => (await read('/v1/models')).models;
  const model = async (id = desk.model._id) => (await models()).find(({ model_id }) => model_id === id);
  const follows = (check: () => Promise<unknown>) => eventually(check, followMs);
  const bundleAt = async (version: string) => {
    const path = await mkdtemp(join(directory, 'bundle-'));
    for (const [file, bytes] of sampleBundle({ version })) await writeFile(join(path, file), bytes);
    return path;
  };

  it('follows a change of an organisation within five seconds', async () => {
    const limit = async () => (await read('/v1/usage')).limit;
    expect(await limit()).to.be.above(777);
    await run('org', 'set', desk.id, '--limit', '777');
    await follows(async () => expect(await limit()).to.equal(777));
  });

  it('follows the suspension of an organisation and its end', async () => {
    const status = async () => (await desk.score([{ company_size: 1 }])).status;
    await run('org', 'suspend', desk.id, '--reason', 'not paid');
    await follows(async () => expect(await status()).to.equal(402));
    await run('org', 'resume', desk.id);
    await follows(async () => expect(await status()).to.equal(200));
  });

  it('follows the deletion of an organisation, and its end', async () => {
    const status = async () => (await desk.call('/v1/usage')).status;
    await run('org', 'delete', desk.id, '--name', 'An organisation of a test');
    await follows(async () => expect(await status()).to.equal(401));
    await run('org', 'undelete', desk.id);
    await follows(async () => expect(await status()).to.equal(200));
  });

  it('follows a change of a model: its settings, versions, override and deletion, and a new model', async () => {
    const id = desk.model._id;
    expect(await model()).to.include({ live_api: true, version: desk.model.version });
    await run('model', 'set', id, '--live-api', 'off');
    await follows(async () => expect(await model()).to.include({ live_api: false }));
    await run('model', 'import', await bundleAt('9.9'), '--org', desk.id, '--model', id, '--serve', '--live-api', 'on');
    await follows(async () => expect(await model()).to.include({ live_api: true, version: '9.9' }));
    const summary = async () => (await model())?.validation.summary;
    await run('model', 'set', id, '--override', 'on', '--reason', 'a test');
    await follows(async () => expect(await summary()).to.include('a test'));
    await run('model', 'set', id, '--override', 'off');
    await follows(async () => expect(await summary()).not.to.include('a test'));
    const count = (await models()).length;
    await run('model', 'import', await bundleAt('1'), '--org', desk.id);
    await follows(async () => expect(await models()).to.have.length(count + 1));
    // A candidate changes no answer.
    await run('model', 'candidate', id, '9.9');
    await run('model', 'candidate', id, '--drop');
    await run('model', 'candidate', id, desk.model.version);
    await run('model', 'promote', id, '--force', '--reason', 'a test');
    await follows(async () => expect(await model()).to.include({ version: desk.model.version }));
    await run('model', 'rollback', id);
    await follows(async () => expect(await model()).to.include({ version: '9.9' }));
    await run('model', 'delete', id, '--yes');
    await follows(async () => expect(await model()).to.equal(undefined));
  });

  it('follows a change of a verdict', async () => {
    const added = await desk.addModel();
    await follows(async () => expect(await model(added._id)).to.not.equal(undefined));
    const detail = async () => await read(`/v1/models/${added._id}`);
    expect((await detail()).validation).not.to.have.property('graded_at');
    await run('validation', 'run', added._id);
    await follows(async () => expect((await detail()).validation).to.have.property('graded_at'));
  });

  it('follows a change of the scopes and of the expiry of a key', async () => {
    const key = await desk.addKey('live');
    // It needs the scope `read`. There is no such lead.
    const status = async () => (await desk.call('/v1/scores/none', { key })).status;
    expect(await status()).to.equal(404);
    await run('key', 'set', key.key._id, '--scopes', 'score');
    await follows(async () => expect(await status()).to.equal(403));
    const at = new Date(service.clock.now() + beforeExpiryMs);
    await run('key', 'set', key.key._id, '--scopes', 'all', '--expires', at.toISOString());
    await eventually(async () => expect(await status()).to.equal(401), beforeExpiryMs + followMs, 100);
    await run('key', 'set', key.key._id, '--expires', 'never');
    await follows(async () => expect(await status()).to.equal(404));
  });

  it('follows a revocation of a key, and one that is repeated after a restore', async () => {
    const statusOf = async (key: UsableKey) => (await desk.call('/v1/models', { key })).status;
    const [revoked, restored] = [await desk.addKey('live'), await desk.addKey('live')];
    for (const key of [revoked, restored]) expect(await statusOf(key)).to.equal(200);
    await run('key', 'revoke', revoked.key._id);
    await follows(async () => expect(await statusOf(revoked)).to.equal(401));
    const file = join(directory, 'changes.jsonl');
    await writeFile(file, `${JSON.stringify({ revoked: restored.key._id, at: new Date() })}\n`);
    const settings = { MONGODB_URL: mongoUrl, REDIS_URL: service.redisServer.url, KEY_PEPPER: service.keyPepper };
    const { exitCode, stderr } = await callCli(['restore', 'finish', file, '--yes'], settings);
    expect(exitCode, stderr).to.equal(0);
    ran.push('restore finish');
    await follows(async () => expect(await statusOf(restored)).to.equal(401));
  });

  it('follows every command that changes data in its caches', () => {
    const names = (command: Command): string[] =>
      command.commands.length === 0
        ? [command.name()]
        : command.commands.flatMap((each) => names(each).map((name) => `${command.name()} ${name}`));
    const config = readOperatorConfig({});
    const unused = {
      clock: service.clock,
      canAsk: false,
      confirm: async () => false,
      ask: async () => undefined,
      present: async () => undefined,
      readSecret: async () => '',
    };
    const { stdout, stderr } = process;
    const all = names(createProgram({ config, connections: new Connections(config), stdout, stderr, ...unused }));
    const listed = all.map((name) => name.replace(/^leadscore /, '')).sort();
    expect([...new Set([...ran, ...others])].sort()).to.deep.equal(listed);
  });

  it('needs no write that is not in one transaction with its entry in the change log', async () => {
    await eventually(() => expect(events.length).to.be.above(10));
    const transactionOf = ({ lsid, txnNumber }: { lsid?: { id: { toString(): string } }; txnNumber?: unknown }) =>
      lsid === undefined ? 'none' : `${lsid.id} ${txnNumber}`;
    const inCollection = (name: string) =>
      events.filter((event) => 'ns' in event && 'coll' in event.ns && event.ns.coll === name);
    const logged = new Set(inCollection('changes').map((event) => transactionOf(event as object)));
    expect(logged.has('none')).to.equal(false);
    for (const [name, needsNone] of Object.entries(cached)) {
      const writes = inCollection(name);
      expect(writes, name).not.to.have.length(0);
      for (const event of writes) {
        if (needsNone(event)) continue;
        expect(logged.has(transactionOf(event as object)), `${event.operationType} of ${name}`).to.equal(true);
      }
    }
  });
});
