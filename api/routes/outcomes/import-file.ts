import { setImmediate as nextStep } from 'node:timers/promises';
import { databaseSink } from '../../../shared/admin/outcomes/database-sink.js';
import {
  type ImportReport,
  importOutcomes,
  type OutcomeImport,
  type OutcomeSink,
} from '../../../shared/admin/outcomes/import-outcomes.js';
import type { Clock } from '../../../shared/contract/dates.js';
import { ApiError } from '../../../shared/contract/errors.js';
import type { FilePart } from '../../../shared/files/reading/file-records.js';
import { inflatedPieces, pieceBytes } from '../../../shared/files/reading/inflate-file.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { type TextForm, utf8Pieces } from '../../../shared/files/reading/text-pieces.js';
import type { Organisation } from '../../../shared/store/accounts/organisations.js';
import { outcomesPerWrite } from '../../../shared/store/validation/outcomes.js';
import type { QueuedCall } from '../../request/large-bodies.js';
import { maxFileRows } from '../../schemas/outcomes.js';
import { asNotRecorded, type OutcomesDeps } from './record-outcomes.js';

/** A full file takes half a minute on a machine with other work. */
export const fileTimeoutMs = 60_000;
const rowsPerBatch = 1_000;

export type FileOptions = Pick<OutcomeImport, 'columns' | 'values' | 'correctsDates'>;

/** A part of a file. One after the first rows has the header of the file, then rows. */
export interface PartOfFile extends FilePart {
  /** Bytes of that header; undefined for a part from the begin of the file on. */
  readonly headerBytes: number | undefined;
}

/** A call with a file of outcomes. */
export interface FileCall {
  readonly organisation: Organisation;
  readonly options: FileOptions;
  /** The body; in UTF-8 if it was not compressed. */
  readonly text: Buffer;
  readonly call: QueuedCall;
  /** Whether nothing is stored, as for test keys. */
  readonly isTest: boolean;
  /** Undefined for a whole file. */
  readonly part?: PartOfFile | undefined;
  /** Called before the first row is stored. */
  readonly beforeStore?: ((counts: StoredCounts) => Promise<void>) | undefined;
}

/** Rows that a call stores. */
interface StoredCounts {
  readonly accepted: number;
  readonly converted: number;
  readonly leads: number;
}

/**
 * Imports the outcomes of a call, for the API and the console.
 * @returns the reply of the API
 * @throws ApiError unreadableRequest for a file that cannot be read; refusedRequest above the limit of the plan;
 * internalError if outcomes may not be stored
 */
export async function importFile(file: FileCall, clock: Clock, deps: OutcomesDeps) {
  const { options, text, call, isTest, part, organisation } = file;
  const now = new Date(clock.now());
  const report = await inTurn(deps.largeBodies, call, () =>
    importOutcomes({
      ...options,
      ...{ now, part, maxRows: maxFileRows, optionText: (name) => name },
      pieces: piecesOf(text, { inflatedBytes: deps.limits.maxBodyBytes, headerBytes: part?.headerBytes }),
      sink: isTest ? nowhere : sinkOf({ organisation, receivedAt: now, beforeStore: file.beforeStore }, deps),
    }),
  );
  return { ...replyOf(report), ...(isTest ? { test: true } : leadsOf(report)) };
}

/**
 * Runs work on a file.
 * @throws ApiError unreadableRequest for a file that cannot be read; as `importFile`
 */
export async function inTurn<Result>(
  largeBodies: OutcomesDeps['largeBodies'],
  call: QueuedCall,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    // One file at a time: it takes the thread for milliseconds at a time, and MongoDB for longer.
    return await largeBodies.inTurn({ ...call, isLarge: true }, work);
  } catch (error) {
    if (error instanceof InputFault) throw new ApiError('unreadableRequest', `${error.message}.`);
    throw asNotRecorded(error);
  }
}

/**
 * The text of a body in UTF-8 without byte order mark.
 * @param of.headerBytes the header of a later part, which is then read before the line of the first row is known
 * @param form receives the form
 */
export async function* piecesOf(
  body: Buffer,
  { inflatedBytes, headerBytes }: { readonly inflatedBytes: number; readonly headerBytes?: number | undefined },
  form: TextForm = { hasMark: false, encoding: 'utf-8' },
): AsyncGenerator<Buffer> {
  const whole = inflatedPieces(once(body), { inflatedBytes, onProgress: () => undefined });
  yield* utf8Pieces(headerBytes === undefined ? whole : parted(body, headerBytes), form);
}

async function* once(body: Buffer): AsyncGenerator<Buffer> {
  yield body;
}

async function* parted(body: Buffer, headerBytes: number): AsyncGenerator<Buffer> {
  yield body.subarray(0, headerBytes);
  for (let from = headerBytes; from < body.length; from += pieceBytes) {
    yield body.subarray(from, from + pieceBytes);
    await nextStep();
  }
}

/** Takes the whole file at once: the limit must refuse it before a row is stored. */
const batchRows = maxFileRows + 1;

const nowhere: OutcomeSink = {
  batchRows,
  record: async () => ({ known: 0, unknown: 0 }),
  scoredNear: async () => undefined,
};

interface SinkOptions extends Pick<FileCall, 'organisation' | 'beforeStore'> {
  readonly receivedAt: Date;
}

function sinkOf(
  { organisation, receivedAt, beforeStore }: SinkOptions,
  { store, limit, grades, predictions }: OutcomesDeps,
): OutcomeSink {
  const organisationId = organisation._id;
  let [added, changed] = [0, 0];
  const sink = databaseSink({
    ...{ organisationId, store, predictions, receivedAt },
    batchRows: rowsPerBatch,
    perWrite: outcomesPerWrite,
    onStored: (stored) => {
      added += stored.added;
      changed += stored.changed;
    },
  });
  return {
    ...sink,
    batchRows,
    async record(rows, newLeads) {
      const took = await limit.take(organisation, new Set(newLeads.keys()));
      const left = new Map(newLeads);
      const converted = rows.filter(({ outcome }) => outcome.converted).length;
      let [known, unknown]: [number, number] = [0, 0];
      let unknownExample: string | undefined;
      try {
        await beforeStore?.({ accepted: rows.length, converted, leads: newLeads.size });
        for (let from = 0; from < rows.length; from += rowsPerBatch) {
          const some = rows.slice(from, from + rowsPerBatch);
          const counts = await sink.record(
            some,
            takenFrom(
              left,
              some.map(({ outcome }) => outcome.crmId),
            ),
          );
          known += counts.known;
          unknown += counts.unknown;
          unknownExample ??= counts.unknownExample;
        }
      } finally {
        took(added);
        if (changed > 0) grades.request(organisationId);
      }
      return { known, unknown, unknownExample };
    },
  };
}

/** Takes the leads of a batch that no batch before has taken. */
function takenFrom(left: Map<string, string>, crmIds: readonly string[]): Map<string, string> {
  const taken = new Map<string, string>();
  for (const crmId of crmIds) {
    const sent = left.get(crmId);
    if (sent !== undefined) taken.set(crmId, sent);
    left.delete(crmId);
  }
  return taken;
}

function replyOf({ rows, accepted, converted, refused, ignored, repeated, mistakes, notes }: ImportReport) {
  const problems = mistakes.map(({ what, ...found }) => ({ problem: what, ...found }));
  return { accepted, rows, converted, refused, ...(ignored > 0 && { ignored }), repeated, problems, notes };
}

const leadsOf = ({ known, unknown, unknownExample, scoredExample }: ImportReport) => ({
  known,
  unknown,
  ...(unknownExample !== undefined && { unknown_example: unknownExample }),
  ...(scoredExample !== undefined && { scored_example: scoredExample }),
});
