import type { Collection, Document } from 'mongodb';
import { inTime } from './in-time.js';
import { type PredictionSlice, placeOf } from './prediction-slice.js';

/** What a record was scored from. */
export interface StoredRecord {
  readonly version: string;
  /** Cells by slot of (model, version), as JSON; undefined when that is too long to be read with so many others. */
  readonly fields: string | undefined;
}

/** A prediction, and where it is: in which slice, and there in which row. */
interface Place {
  readonly id: string;
  readonly sliceId: string;
  readonly index: number;
}

/** Of a slice, the texts that are asked for, in the order of their places: null when erased, `false` when too long. */
interface FoundSlice {
  readonly _id: string;
  readonly version: string;
  readonly texts: readonly (string | false | null)[];
}

/** All that is read at once, however long the single texts may be: what a worker keeps of a chunk has a limit. */
const mostBytes = 64 * 1024 * 1024;
/** Slices of one command: MongoDB holds each against all places that are asked for. */
const mostSlices = 16;

/**
 * Reads what records were scored from. MongoDB takes the wanted texts out of their slices: those of their neighbours may
 * be a hundred times as much.
 * @param ids of predictions
 * @returns by id; those that were erased or removed are missing
 */
export async function readStoredRecords(
  collection: Collection<PredictionSlice>,
  ids: readonly string[],
  timeoutMs: number,
): Promise<Map<string, StoredRecord>> {
  const found = new Map<string, StoredRecord>();
  const distinct = [...new Set(ids)];
  const longestBytes = Math.floor(mostBytes / Math.max(1, distinct.length));
  await inTime(timeoutMs, async (signal) => {
    for (const bySlice of placesBySlice(distinct)) {
      const places = [...bySlice.values()].flat();
      const slices = collection
        .find({ _id: { $in: [...bySlice.keys()] }, scores: { $exists: true } }, { signal })
        .project<FoundSlice>({ version: 1, texts: textsAt(places, longestBytes) });
      for await (const { _id, version, texts } of slices)
        for (const [place, { id }] of (bySlice.get(_id) ?? []).entries()) {
          const text = texts[place] ?? null;
          if (text !== null) found.set(id, { version, fields: text === false ? undefined : text });
        }
    }
  });
  return found;
}

/** The places of predictions by their slices, in as many pieces as commands are needed. */
function placesBySlice(ids: readonly string[]): Map<string, Place[]>[] {
  const commands: Map<string, Place[]>[] = [];
  const bySlice = new Map<string, Place[]>();
  for (const id of ids) {
    const place = { id, ...placeOf(id) };
    const places = bySlice.get(place.sliceId) ?? [];
    places.push(place);
    bySlice.set(place.sliceId, places);
  }
  const entries = [...bySlice];
  for (let start = 0; start < entries.length; start += mostSlices)
    commands.push(new Map(entries.slice(start, start + mostSlices)));
  return commands;
}

/** An expression for those texts of a slice that are among the places. */
const textsAt = (places: readonly Place[], longestBytes: number): Document => ({
  $map: {
    input: {
      $filter: {
        input: { $literal: places.map(({ sliceId, index }) => ({ sliceId, index })) },
        as: 'place',
        cond: { $eq: ['$$place.sliceId', '$_id'] },
      },
    },
    as: 'place',
    in: {
      $let: {
        vars: { text: { $arrayElemAt: ['$fields', '$$place.index'] } },
        in: {
          $cond: [{ $gt: [{ $strLenBytes: { $ifNull: ['$$text', ''] } }, longestBytes] }, false, '$$text'],
        },
      },
    },
  },
});
