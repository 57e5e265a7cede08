import type { Db } from 'mongodb';
import { newId } from '../../../shared/contract/identifiers.js';
import { connectMongo, type Mongo } from '../../../shared/store/connection/connect.js';
import { prepareDatabase } from '../../../shared/store/connection/prepare-database.js';
import { type Graded, gradeVersion } from '../../../worker/grading/job/grade-version.js';
import { freshDatabases } from '../../support/service/servers.js';
import type { WorldIds } from './recorded-world.js';

/** A database for a `describe` block. Hooks open it before the first test and close it after the last. */
export function gradingDatabase(): Mongo {
  let opened: Mongo | undefined;
  const mongo = (): Mongo => {
    if (opened === undefined) throw new Error('the database is only open while tests run');
    return opened;
  };
  before(async () => {
    opened = await connectMongo((await freshDatabases()).mongoUrl, { name: 'test' });
    await prepareDatabase(opened.database);
  });
  after(() => opened?.client.close());
  return {
    get client() {
      return mongo().client;
    },
    get database() {
      return mongo().database;
    },
  };
}

/** New ids of an organisation, a model and a version. */
export const newIds = (): WorldIds => ({ organisationId: newId('org'), modelId: newId('mdl'), version: '1' });

/**
 * Creates a function that grades a version at a date. The service's clock shows the same date unless `nowMs` is given.
 * @param mongo its database is read at each grade, because hooks open it later
 */
export const gradesIn =
  (mongo: { readonly database: Db }, horizonDays: number) =>
  (
    ids: WorldIds,
    asOfMs: number,
    options: { readonly nowMs?: number; readonly rebuild?: boolean; readonly maxLeadsPerPass?: number } = {},
  ): Promise<Graded> =>
    gradeVersion({
      database: mongo.database,
      ...ids,
      facts: { horizon_days: horizonDays },
      asOfMs,
      nowMs: asOfMs,
      rebuild: false,
      ...options,
    });
