import { setTimeout as pause } from 'node:timers/promises';
import { type Db, MongoServerError } from 'mongodb';
import { organisationNumber } from '../../contract/identifiers.js';
import { callsCollection, idsOfOrganisation } from '../calls/prediction-segment.js';
import { amongIds } from '../connection/connect.js';
import {
  indexByNumber,
  indexByText,
  indexSeenWithinMs,
  type LeadIndexStep,
  leadIndexStep,
  noteNumbers,
} from './lead-index.js';
import { createLeadIndex, numberedSegments } from './prepare-calls.js';

/** The state of the lead index, for an operator. */
export interface LeadIndexState {
  /** `text`: nothing has begun. */
  readonly step: 'text' | LeadIndexStep['step'];
  /** Whether the index by the text is still there beside the other one. */
  readonly hasOld: boolean;
}

/** @throws the driver's error */
export async function readLeadIndexState(database: Db): Promise<LeadIndexState> {
  const stored = await leadIndexStep(database).findOne({ _id: 'lead_index' });
  const step = stored?.step ?? 'text';
  return { step, hasOld: step === 'complete' && (await nameOfOld(database)) !== undefined };
}

export interface MoveOptions {
  /** Called after each write, with the segments that have got their number. */
  readonly onProgress?: (filled: number) => void;
  /** For how long processes may still read by the text after the last step. */
  readonly settleMs?: number;
}

/** Segments of one write; a segment takes some 20 kB. */
const atOnce = 200;
/** Lets the writes of calls pass between two writes. */
const restMs = 5;
/** A process may have read the step just before it changed, and then begin a query that takes some seconds. */
const defaultSettleMs = indexSeenWithinMs + 15_000;
const majority = { writeConcern: { w: 'majority' } } as const;

/**
 * Moves a database to the lead index by the number. All running processes must write the number. It may be repeated
 * after it was killed in any step:
 * 1. MongoDB refuses segments without a number from now on;
 * 2. older segments get theirs;
 * 3. the index is built;
 * 4. the step `complete` makes all processes read by it;
 * 5. the old index goes, once no process reads by it.
 * @returns the segments that got a number
 * @throws the driver's error
 */
export async function moveLeadIndex(database: Db, options: MoveOptions = {}): Promise<number> {
  const { onProgress, settleMs = defaultSettleMs } = options;
  const steps = leadIndexStep(database);
  const { step } = await readLeadIndexState(database);
  let filled = 0;
  if (step !== 'complete') {
    await steps.updateOne({ _id: 'lead_index' }, { $set: { step: 'filling' } }, { upsert: true, ...majority });
    await database.command({ collMod: callsCollection, ...numberedSegments });
    filled = await fill(database, onProgress);
    await createLeadIndex(database, indexByNumber);
    const complete = { $set: { step: 'complete' as const }, $unset: { filled_to: 1 as const } };
    await steps.updateOne({ _id: 'lead_index' }, complete, majority);
    noteNumbers(database);
  }
  const old = await nameOfOld(database);
  if (old !== undefined) {
    await pause(settleMs);
    await database.collection(callsCollection).dropIndex(old);
  }
  return filled;
}

/** Adds the numbers, organisation by organisation in the order of ids, and stores how far it has come. */
async function fill(database: Db, onProgress: MoveOptions['onProgress']): Promise<number> {
  const steps = leadIndexStep(database);
  const calls = database.collection<{ _id: string; org: string }>(callsCollection);
  const withoutNumber = { crm_ids: { $exists: true }, o: { $exists: false } };
  let after = (await steps.findOne({ _id: 'lead_index' }))?.filled_to ?? '';
  let filled = 0;
  for (;;) {
    const next = await calls
      .find({ _id: { $gt: after }, ...withoutNumber }, { hint: { _id: 1 } })
      .project<{ readonly _id: string; readonly org: string }>({ org: 1 })
      .sort({ _id: 1 })
      .limit(atOnce)
      .toArray();
    const [first] = next;
    if (first === undefined) return filled;
    // The number comes from the beginning of the id, so organisations with the same range of ids have the same.
    const range = idsOfOrganisation(first.org);
    const ids = next.flatMap(({ _id }) => (_id >= range.$gte && _id < range.$lt ? [_id] : []));
    const number = { $set: { o: organisationNumber(first.org) } };
    await calls.updateMany({ _id: amongIds(ids), ...withoutNumber }, number, majority);
    filled += ids.length;
    after = ids.at(-1) ?? first._id;
    await steps.updateOne({ _id: 'lead_index' }, { $set: { filled_to: after } });
    onProgress?.(filled);
    await pause(restMs);
  }
}

/** The name of the index by the text; undefined without one. */
async function nameOfOld(database: Db): Promise<string | undefined> {
  const wanted = JSON.stringify(indexByText.key);
  const indexes = await database
    .collection(callsCollection)
    .indexes()
    .catch((error: unknown) => {
      // Without a collection there is no index.
      if (error instanceof MongoServerError && error.code === namespaceNotFound) return [];
      throw error;
    });
  return indexes.find(({ key }) => JSON.stringify(key) === wanted)?.name;
}

const namespaceNotFound = 26;
