import { Queue } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { ownLevel } from '../../../../shared/process/release.js';
import { queuePrefix } from '../../../../shared/redis/keys.js';
import { type ProcessNote, ProcessRegister } from '../../../../shared/redis/process-register.js';
import { connectionName } from '../../../../shared/redis/running-processes.js';
import { type ContractStep, contractSteps } from '../../../../shared/store/schema/contract-schema.js';
import { schemaStates } from '../../../../shared/store/schema/schema-state.js';
import { type OperatorDesk, operatorDesk } from '../operator-desk.js';

const minuteMs = 60_000;
const note: ProcessNote = {
  ...{ kind: 'pool', release: '0.1.0', host: 'web-1', pid: 210, upMs: 1, settings: {} },
  ...{ clockAheadMs: 0, disk: null },
};

describe('leadscore migrate --contract', () => {
  let desk: OperatorDesk;
  let queue: Queue;
  let redis: Redis;

  beforeEach(async () => {
    desk = await operatorDesk();
    await desk.newOrganisation();
    redis = new Redis(desk.databases.redisUrl, { maxRetriesPerRequest: null, replyMapping: 'legacy' });
    queue = new Queue('upkeep-of-a-test', { connection: redis, prefix: queuePrefix });
    for (const [name, data] of [
      ['removed', { level: ownLevel - 1 }],
      ['of 0.1.0', undefined],
      ['own', { level: ownLevel }],
      ['later', { level: ownLevel + 1 }],
    ] as const)
      await queue.upsertJobScheduler(name, { every: minuteMs }, { name, ...(data && { data }) });
  });
  afterEach(async () => {
    await queue.close();
    redis.disconnect();
    await desk.leave();
  });

  const schedules = async () => (await queue.getJobSchedulers()).map(({ key }) => key).sort();
  const all = ['later', 'of 0.1.0', 'own', 'removed'];
  const refusal = async () => {
    const { exitCode, stderr } = await desk.run('migrate', '--contract');
    expect(exitCode).to.equal(1);
    expect(await schedules()).to.deep.equal(all);
    return stderr;
  };

  it('removes schedules that only earlier releases stored, and leaves an entry in the audit log', async () => {
    expect((await desk.run('migrate', '--contract', '--dry-run')).stdout).to.equal(
      'The database has nothing that only earlier releases use.\n',
    );
    expect(await schedules()).to.deep.equal(all);
    expect((await desk.run('migrate', '--contract')).stdout).to.include('exist no longer were removed: 2.');
    expect(await schedules()).to.deep.equal(['later', 'own']);
    const entry = await desk.stores.database.collection('audit_log').findOne({ action: 'schema.contract' });
    expect(entry?.after).to.deep.include({ schedules_removed: 2 });
    expect(await desk.document('migrate', '--contract')).to.deep.include({ steps: [], schedules_removed: 0 });
  });

  it('is refused while a process of an earlier release runs, and names it', async () => {
    const register = new ProcessRegister(desk.redis);
    await register.note('one', { ...note, level: ownLevel - 1 });
    expect(await refusal())
      .to.include('worker pool web-1:210')
      .and.include('wait 35 seconds');
    await register.note('one', { ...note, level: ownLevel });
    expect((await desk.run('migrate', '--contract')).exitCode).to.equal(0);
  });

  it('is refused while a connected process notes no release', async () => {
    const silent = desk.redis.duplicate({ connectionName: connectionName('gateway') });
    await silent.ping();
    expect(await refusal()).to.include('1 gateway that notes no release');
    silent.disconnect();
  });

  it('is refused with --again, and in a database that a later release has changed', async () => {
    expect((await desk.run('migrate', '--contract', '--again')).exitCode).to.equal(2);
    await schemaStates(desk.stores.database).updateOne({ _id: 'schema' }, { $set: { usable_from: 99 } });
    expect(await refusal()).to.include('has changed the database');
  });

  describe('with a step that removes a member', () => {
    const level = ownLevel - 1;
    const step: ContractStep = {
      ...{ level, name: 'the old names of things', reads: ['things'] },
      run: async (database) => {
        await database.collection('things').updateMany({}, { $unset: { old: 1 } });
      },
    };
    // No release has such a step so far. Commands of this process read the same list.
    const steps = contractSteps as ContractStep[];

    beforeEach(async () => {
      steps.push(step);
      await desk.stores.database.collection('things').insertOne({ old: 1, kept: 1 });
      const lastUpgrade = { at: level, usable_from: 0, contracted: 0 };
      await schemaStates(desk.stores.database).updateOne({ _id: 'schema' }, { $set: lastUpgrade });
    });
    afterEach(() => {
      steps.splice(steps.indexOf(step), 1);
    });

    const state = () => schemaStates(desk.stores.database).findOne({ _id: 'schema' });
    const things = () => desk.stores.database.collection('things').find().project({ _id: 0 }).toArray();

    it('the next migrate asks for it, also as a dry run, and changes nothing until it has run', async () => {
      const before = await state();
      for (const words of [['migrate'], ['migrate', '--dry-run'], ['migrate', '--again']]) {
        const { exitCode, stdout, stderr } = await desk.run(...words, '--json');
        expect([exitCode, stdout], words.join(' ')).to.deep.equal([1, '']);
        const { code, message } = JSON.parse(stderr).error;
        expect(code).to.equal('contract_pending');
        expect(message).to.include('run `npx leadscore migrate --contract`, and then this command again');
      }
      expect(await state()).to.deep.equal(before);
      expect(await things()).to.deep.equal([{ old: 1, kept: 1 }]);
      expect((await desk.run('migrate', '--contract')).exitCode).to.equal(0);
      expect((await desk.run('migrate')).stdout).to.include(`The database has schema ${ownLevel}`);
      expect(await state()).to.include({ at: ownLevel, usable_from: level, contracted: level });
    });

    it('is shown by a dry run, is refused beside an older process, runs once, and is in the audit log', async () => {
      const before = await state();
      expect((await desk.run('migrate', '--contract', '--dry-run')).stdout)
        .to.match(new RegExp(`^Step ${level}: the old names of things\\. It reads at most 1 document`))
        .and.include('Nothing was changed.');
      const register = new ProcessRegister(desk.redis);
      await register.note('one', { ...note, level: level - 1 });
      expect(await refusal()).to.include('worker pool web-1:210');
      expect(await state()).to.deep.equal(before);
      expect(await things()).to.deep.equal([{ old: 1, kept: 1 }]);
      await register.remove('one');
      const { exitCode, stdout, stderr } = await desk.run('migrate', '--contract');
      expect(exitCode, stderr).to.equal(0);
      expect(stderr).to.include(`Step ${level} of ${level}: the old names of things.`);
      expect(stdout).to.include(`Only releases with schema ${level} or later can use the database now.`);
      expect(await things()).to.deep.equal([{ kept: 1 }]);
      const entry = await desk.stores.database.collection('audit_log').findOne({ action: 'schema.contract' });
      expect(entry).to.deep.include({ before: { usable_from: 0 } });
      expect(entry?.after).to.deep.include({ usable_from: level, steps: [step.name] });
      expect((await desk.document('migrate', '--contract')).steps).to.deep.equal([]);
    });
  });
});
