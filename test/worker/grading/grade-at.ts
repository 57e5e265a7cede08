import type { Db } from 'mongodb';
import { newId } from '../../../shared/identifiers.js';
import { connectMongo, type Mongo } from '../../../shared/store/connect.js';
import { prepareDatabase } from '../../../shared/store/prepare.js';
import { type Graded, gradeVersion } from '../../../worker/grading/grade-version.js';
import { freshDatabases } from '../../support/servers.js';
import type { WorldIds } from './recorded-world.js';

/** A database for the tests of a `describe` block: opened before the first of them, and closed after the last. */
export function gradingDatabase(): Mongo {
  let opened: Mongo | undefined;
  const mongo = (): Mongo => {
    if (opened === undefined) throw new Error('there is no database before the tests begin');
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

/** A version of a model that nobody else grades. */
export const newIds = (): WorldIds => ({ organisationId: newId('org'), modelId: newId('mdl'), version: '1' });

/**
 * How a version is graded at a date, which is also taken for now unless told otherwise.
 * @param mongo asked for its database at each grade: tests open theirs before they begin
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
