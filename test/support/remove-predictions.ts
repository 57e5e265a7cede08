import type { Db } from 'mongodb';
import { callsCollection } from '../../shared/store/calls-collection.js';
import { PredictionStore } from '../../shared/store/predictions.js';

/** Removes every prediction of an organisation, as if none had been stored; what was counted stays. */
export async function removePredictions(database: Db, organisationId: string): Promise<void> {
  const stored = await database
    .collection<{ readonly _id: string }>(callsCollection)
    .find({ org: organisationId, scores: { $exists: true } })
    .toArray();
  await new PredictionStore(database).remove(stored.map(({ _id }) => _id));
}
