import type { ClientSession, Db } from 'mongodb';
import { IdSet } from '../../files/id-set.js';
import { callsCollection, ofSentRecords, type PredictionSegment } from '../calls/prediction-segment.js';
import { firstPage, nextPage } from './segment-pages.js';

/** A segment with the columns that are read. */
type SegmentWith<Column extends keyof PredictionSegment> = Pick<PredictionSegment, '_id' | 'crm_ids' | Column>;

export interface SegmentRange<Column extends keyof PredictionSegment> {
  readonly org: string;
  readonly model: string;
  /** Segments between these ids, without them. */
  readonly afterId: string;
  readonly untilId: string;
  /** Read beside `_id` and `crm_ids`. */
  readonly columns: readonly Column[];
  /** Records that a page has at most, about. Decoding a page holds up the event loop. */
  readonly pageRecords: number;
  /** Whether the segments come in the opposite order. */
  readonly newestFirst?: boolean;
}

export interface ReadMeans {
  /** Belongs to a snapshot, so that all pages show one instant. */
  readonly session?: ClientSession;
  readonly signal?: AbortSignal;
  /** Awaited before each page. */
  readonly beforePage?: () => Promise<void>;
}

/**
 * Reads the live segments of a model under any of its versions, in the order of their ids, page by page. Calls of test
 * keys and voided calls have none. Calls that scored stored leads again are left out.
 * @throws errors of MongoDB; the reason of the signal
 */
export async function* segmentsInOrder<Column extends keyof PredictionSegment = never>(
  database: Db,
  range: SegmentRange<Column>,
  { session, signal, beforePage }: ReadMeans = {},
): AsyncGenerator<SegmentWith<Column>> {
  const { org, model, afterId, untilId, columns, pageRecords, newestFirst = false } = range;
  const calls = database.collection<PredictionSegment>(callsCollection);
  const projection = Object.fromEntries(['crm_ids', ...columns].map((column) => [column, 1]));
  const means = { ...(session && { session }), ...(signal && { signal }) };
  for (let [size, left] = [firstPage, { $gt: afterId, $lt: untilId }]; ; ) {
    await beforePage?.();
    const segments = await calls
      .find({ _id: left, org, model, scores: { $exists: true }, ...ofSentRecords }, { hint: { _id: 1 }, ...means })
      .project<SegmentWith<Column>>(projection)
      .sort({ _id: newestFirst ? -1 : 1 })
      .limit(size)
      .toArray();
    yield* segments;
    const lastId = segments.at(-1)?._id;
    if (segments.length < size || lastId === undefined) return;
    left = { ...left, [newestFirst ? '$lt' : '$gt']: lastId };
    size = nextPage(segments, pageRecords);
  }
}

/** Finds the first scores of leads in segments that come in order. It holds a hash a lead, at most 64 MiB. */
export class FirstScores {
  private readonly known = new IdSet();

  /** Whether there were more leads than can be distinguished, some five million. */
  get isFull(): boolean {
    return this.known.isFull;
  }

  /** The indexes of the records whose leads come for the first time. Erased records are none. */
  rowsOf(crmIds: PredictionSegment['crm_ids']): number[] {
    const rows: number[] = [];
    for (const [row, crmId] of crmIds.entries()) if (crmId !== null && !this.known.has(crmId)) rows.push(row);
    return rows;
  }
}
