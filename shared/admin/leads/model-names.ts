import type { Db } from 'mongodb';
import { ModelStore } from '../../store/models/models.js';

/** The names of an organisation's models by id, without deleted ones. */
export const modelNames = async (database: Db, organisationId: string): Promise<ReadonlyMap<string, string>> =>
  new Map((await new ModelStore(database).list(organisationId)).map(({ _id, name }) => [_id, name]));
