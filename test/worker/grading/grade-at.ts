import type { Db } from 'mongodb';
import { newId } from '../../../shared/identifiers.js';
import { type Graded, gradeVersion } from '../../../worker/grading/grade-version.js';
import type { WorldIds } from './recorded-world.js';

/** A version of a model that nobody else grades. */
export const newIds = (): WorldIds => ({ organisationId: newId('org'), modelId: newId('mdl'), version: '1' });

/**
 * How a version is graded at a date, which is also taken for now.
 * @param database asked for at each grade: tests open theirs before they begin
 */
export const gradesIn =
  (database: () => Db, horizonDays: number) =>
  (ids: WorldIds, asOfMs: number, rebuild = false): Promise<Graded> =>
    gradeVersion({
      database: database(),
      ...ids,
      facts: { horizon_days: horizonDays },
      asOfMs,
      nowMs: asOfMs,
      rebuild,
    });
