import type { Context, Middleware } from 'koa';
import { ConvertedValues, valuesOf } from '../../../shared/admin/outcomes/converted-values.js';
import { databaseSink } from '../../../shared/admin/outcomes/database-sink.js';
import {
  type ImportReport,
  importOutcomes,
  type OutcomeImport,
  type OutcomeSink,
} from '../../../shared/admin/outcomes/import-outcomes.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { inflatedPieces } from '../../../shared/files/reading/inflate-file.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { utf8Pieces } from '../../../shared/files/reading/text-pieces.js';
import { outcomesPerWrite } from '../../../shared/store/validation/outcomes.js';
import { declaredEncoding } from '../../request/content-type.js';
import type { QueuedCall } from '../../request/large-bodies.js';
import { inUtf8 } from '../../request/windows-1252.js';
import { type FileOptionName, fileOptionNames, maxFileRows } from '../../schemas/outcomes.js';
import { queryParameter, type Reader, type ReadingDeps, receivingRoute } from '../reading.js';
import { asNotRecorded, type OutcomesDeps, receiveOutcomes } from './record-outcomes.js';

/** A full file takes half a minute on a machine with other work. */
const fileTimeoutMs = 60_000;
const rowsPerBatch = 1_000;

type FileOptions = Pick<OutcomeImport, 'columns' | 'values' | 'correctsDates'>;

/**
 * `POST /v1/outcomes` with a CSV: as `leadscore outcomes import`. Each row is stored or reported. Above the limit of
 * the plan nothing of the call is stored.
 */
export function outcomesFileRoute(deps: ReadingDeps, outcomesDeps: OutcomesDeps): Middleware {
  const { largeBodies, limits } = outcomesDeps;
  return receivingRoute(
    { ...deps, timeoutMs: fileTimeoutMs },
    {
      window: 'outcomes',
      receive: async (context, reader) => {
        const options = fileOptions(context);
        const encoding = declaredEncoding(context);
        const call = await receiveOutcomes(context, reader, { ...outcomesDeps, timeoutMs: fileTimeoutMs });
        return { options, text: inUtf8(call.body, encoding), call };
      },
      answer: async (_context, reader, { options, text, call }) => {
        const isTest = reader.apiKey.kind === 'test';
        const file = {
          ...options,
          pieces: piecesOf(text, limits.maxBodyBytes),
          sink: isTest ? nowhere : sinkOf(deps, outcomesDeps, reader),
          now: new Date(deps.clock.now()),
          maxRows: maxFileRows,
          optionText: (name: string) => name,
        };
        const report = await importInTurn(largeBodies, call, file);
        return { ...replyOf(report), ...(isTest ? { test: true } : leadsOf(report)) };
      },
    },
  );
}

async function importInTurn(
  largeBodies: OutcomesDeps['largeBodies'],
  call: QueuedCall,
  file: OutcomeImport,
): Promise<ImportReport> {
  try {
    // One file at a time: it takes the thread for milliseconds at a time, and MongoDB for longer.
    return await largeBodies.inTurn({ ...call, isLarge: true }, () => importOutcomes(file));
  } catch (error) {
    if (error instanceof InputFault) throw new ApiError('unreadableRequest', `${error.message}.`);
    throw asNotRecorded(error);
  }
}

async function* piecesOf(body: Buffer, inflatedBytes: number): AsyncGenerator<Buffer> {
  const inflated = inflatedPieces(once(body), { inflatedBytes, onProgress: () => undefined });
  yield* utf8Pieces(inflated, { hasMark: false, encoding: 'utf-8' });
}

async function* once(body: Buffer): AsyncGenerator<Buffer> {
  yield body;
}

/** Takes the whole file at once: the limit must refuse it before a row is stored. */
const batchRows = maxFileRows + 1;

const nowhere: OutcomeSink = {
  batchRows,
  record: async () => ({ known: 0, unknown: 0 }),
  scoredNear: async () => undefined,
};

function sinkOf(
  { clock }: ReadingDeps,
  { store, limit, grades, predictions }: OutcomesDeps,
  { organisation }: Reader,
): OutcomeSink {
  const organisationId = organisation._id;
  let [added, changed] = [0, 0];
  const sink = databaseSink({
    organisationId,
    store,
    predictions,
    receivedAt: new Date(clock.now()),
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
      let [known, unknown]: [number, number] = [0, 0];
      let unknownExample: string | undefined;
      try {
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

function replyOf({ rows, accepted, converted, refused, repeated, mistakes, notes }: ImportReport) {
  const problems = mistakes.map(({ what, ...found }) => ({ problem: what, ...found }));
  return { accepted, rows, converted, refused, repeated, problems, notes };
}

const leadsOf = ({ known, unknown, unknownExample, scoredExample }: ImportReport) => ({
  known,
  unknown,
  ...(unknownExample !== undefined && { unknown_example: unknownExample }),
  ...(scoredExample !== undefined && { scored_example: scoredExample }),
});

/** @throws ApiError unreadableRequest for options that are unknown, repeated or contradict each other */
function fileOptions(context: Context): FileOptions {
  const names = [...new URLSearchParams(context.querystring).keys()];
  const unknown = names.find((name) => !fileOptionNames.some((each) => each === name));
  if (unknown !== undefined)
    throw new ApiError(
      'unreadableRequest',
      `"${unknown.slice(0, 100)}" is no option of a file of outcomes: ${fileOptionNames.join(', ')}.`,
    );
  const option = (name: FileOptionName) => queryParameter(context, name) || undefined;
  const list = (name: FileOptionName) => {
    const text = option(name);
    return text === undefined ? undefined : valuesOf(text);
  };
  const isSet = (name: FileOptionName): boolean => {
    const text = option(name) ?? 'false';
    if (/^(?:true|1)$/i.test(text)) return true;
    if (/^(?:false|0)$/i.test(text)) return false;
    throw new ApiError('unreadableRequest', `${name} must be true or false.`);
  };
  try {
    return {
      columns: { crmId: option('crm_id'), converted: option('converted'), at: option('at') },
      values: new ConvertedValues({
        wonValues: list('won_values'),
        lostValues: list('lost_values'),
        othersLost: isSet('others_lost'),
      }),
      correctsDates: isSet('correct_dates'),
    };
  } catch (error) {
    throw error instanceof InputFault ? new ApiError('unreadableRequest', `${error.message}.`) : error;
  }
}
