import { expect } from 'chai';
import type { Document } from 'mongodb';
import { prefixOfCallId } from '../../../shared/contract/identifiers.js';
import { callsCollection } from '../../../shared/store/calls/prediction-segment.js';
import { BulkJob } from '../../support/jobs/bulk-job.js';
import { sharedService, startTimeoutMs } from '../../support/service/service.js';
import { profile } from '../../support/service/shard-keys.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

describe('stored fields of the known leads of a bulk job', () => {
  let own: TestWorkspace;

  before(async function () {
    this.timeout(startTimeoutMs);
    own = await workspace(await sharedService('bulk'));
  });
  afterEach(() => own.service.stores.database.command({ profile: 0 }));

  /** Scores a file whose rows have no `lead_source`, and no size either if it is empty. */
  async function scored(sizeOf: (row: number) => string): Promise<string[][]> {
    const rows = Array.from({ length: 1_200 }, (_, row) => `L-${row},${sizeOf(row)},yes,`);
    const job = await BulkJob.create(own, `crm_id,company_size,demo_requested,lead_source\n${rows.join('\n')}\n`);
    expect((await job.until('completed')).settled.scored).to.equal(rows.length);
    return await job.cells();
  }

  /** The records whose stored fields workers read while `work` ran. */
  async function fieldsRead(work: () => Promise<unknown>): Promise<number> {
    const { database } = own.service.stores;
    await profile(database);
    await work();
    const noted = await database.collection<{ readonly command: Document }>('system.profile').find().toArray();
    const idsRead = noted.flatMap(({ command }): readonly { segmentId: string; indexes?: readonly number[] }[] => {
      if (command.find === callsCollection && command.projection?.texts !== undefined)
        return [{ segmentId: command.filter._id, indexes: command.projection.texts.$map.input }];
      return command.aggregate === 1 || command.aggregate === callsCollection
        ? (command.pipeline[0].$documents ?? [])
        : [];
    });
    const isOwn = ({ segmentId = '' }) => prefixOfCallId(segmentId) === own.id.slice(4, 10);
    return idsRead.filter(isOwn).reduce((sum, { indexes = [] }) => sum + indexes.length, 0);
  }

  it('are read only for the rows that lack a field which the latest prediction has', async function () {
    this.timeout(120_000);
    const sizeOf = (row: number) => String(row % 400);
    const first = await scored(sizeOf);
    let second: string[][] = [];
    expect(await fieldsRead(async () => (second = await scored(sizeOf)))).to.equal(0);
    let third: string[][] = [];
    const lacking = (row: number) => (row % 4 === 0 ? '' : sizeOf(row));
    expect(await fieldsRead(async () => (third = await scored(lacking)))).to.equal(300);
    const scoresOf = (cells: readonly string[][]) => cells.map(([, , , , score]) => score);
    expect(new Set(scoresOf(first)).size).to.be.above(20);
    expect(scoresOf(second)).to.deep.equal(scoresOf(first));
    expect(scoresOf(third)).to.deep.equal(scoresOf(first));
  });
});
