import { type Mongo, withMongoTimeout } from '../connection/connect.js';
import { inTransaction } from '../connection/transaction.js';
import { type CallDay, CallDayStore, dayOf } from './call-days.js';

/** The calls of one key, model and hour, as gateways of earlier versions store them. */
type CallHour = Omit<CallDay, 'day'> & { readonly hour: Date };

const hoursAtOnce = 1_000;
const timeoutMs = 10_000;

/**
 * Moves stored calls by hour into days. Each step is a transaction: an hour counts once, also when processes do so at
 * once, or one dies. A gateway of an earlier version may add to an hour meanwhile: then the step is repeated.
 * @param signal ends the move after a step
 * @returns the moved hours
 */
export async function moveCallHours({ client, database }: Mongo, signal: AbortSignal): Promise<number> {
  const hours = database.collection<CallHour>('call_hours');
  const days = new CallDayStore(database);
  let moved = 0;
  while (!signal.aborted) {
    const next = await withMongoTimeout(timeoutMs, (limit) =>
      hours.findOne({}, { projection: { org: 1 }, signal: limit }),
    );
    if (next === null) break;
    const { org } = next;
    let inStep = 0;
    await inTransaction(
      client,
      async ({ session, signal: limit }) => {
        const some = await hours.find({ org }, { limit: hoursAtOnce, session, signal: limit }).toArray();
        await days.add(
          some.map(({ hour, ...counts }) => ({ ...counts, day: dayOf(hour.getTime()) })),
          session,
        );
        await hours.deleteMany({ org, _id: { $in: some.map(({ _id }) => _id) } }, { session });
        inStep = some.length;
      },
      { timeoutMs },
    );
    moved += inStep;
  }
  return moved;
}
