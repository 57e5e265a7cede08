import { defineAction } from '../../shared/admin/action.js';
import { invalid } from '../../shared/admin/admin-error.js';
import { requireOrganisation } from '../../shared/admin/organisations/organisation-document.js';
import { previewOutcomes } from '../../shared/admin/outcomes/outcome-preview.js';
import {
  importOutcomesInput,
  importOutcomesOutput,
  previewOutcomesInput,
  previewOutcomesOutput,
} from '../../shared/admin/schemas/outcomes.js';
import type { Config } from '../../shared/config/config.js';
import { positionIn } from '../../shared/files/reading/input-fault.js';
import type { TextForm } from '../../shared/files/reading/text-pieces.js';
import type { Logger } from '../../shared/process/logger.js';
import { OrganisationStore } from '../../shared/store/accounts/organisations.js';
import { PredictionStore } from '../../shared/store/calls/predictions.js';
import { OutcomeStore } from '../../shared/store/validation/outcomes.js';
import type { Connections } from '../connections.js';
import { BodyMemory } from '../request/body-memory.js';
import { LargeBodies, type QueuedCall } from '../request/large-bodies.js';
import { GradeRequests } from '../routes/outcomes/grade-requests.js';
import { importFile, inTurn, type PartOfFile, piecesOf } from '../routes/outcomes/import-file.js';
import { OutcomeLimit } from '../routes/outcomes/outcome-limit.js';
import { fileOptions } from '../routes/outcomes/outcomes-file.js';
import type { OutcomesDeps } from '../routes/outcomes/record-outcomes.js';
import { maxFileRows } from '../schemas/outcomes.js';
import type { OutcomeFiles } from './routes/outcome-routes.js';

const markBytes = 3;
/** Read before a column is chosen. */
const firstRows = 5;
const optionText = (name: string): string => name;

/** Makes the actions that read a file of outcomes, and store it by the function of `POST /v1/outcomes`. */
export function outcomeFiles(
  { config, logger }: { readonly config: Config; readonly logger: Logger },
  { jobs, mongo: { database } }: Pick<Connections, 'jobs' | 'mongo'>,
): OutcomeFiles {
  const store = new OutcomeStore(database);
  const deps: OutcomesDeps = {
    store,
    limit: new OutcomeLimit({ outcomes: store, retentionDays: config.retentionDays }),
    grades: new GradeRequests({ redis: jobs, logger }),
    predictions: new PredictionStore(database),
    largeBodies: new LargeBodies(() => 0),
    limits: config,
    bodies: new BodyMemory(config),
  };
  return { deps, preview: previewAction(deps), import: importAction(deps) };
}

const importAction = (deps: OutcomesDeps): OutcomeFiles['import'] =>
  defineAction<typeof importOutcomesInput, typeof importOutcomesOutput, QueuedCall>({
    name: 'outcomes.import',
    description: 'Import a CSV of outcomes, or a part of it, as POST /v1/outcomes does: at most 50,000 rows.',
    role: 'admin',
    effect: 'steps',
    input: importOutcomesInput,
    output: importOutcomesOutput,
    async run({ database, clock, record }, input, call) {
      const { org_id: organisationId, line, header, goes_on: goesOn = false, ...options } = input;
      const organisation = await requireOrganisation(new OrganisationStore(database), organisationId);
      const file = {
        ...{ organisation, call, text: call.body, isTest: false },
        part: goesOn || line !== undefined || header !== undefined ? partOf({ line, header }) : undefined,
        options: fileOptions(new URLSearchParams(options).toString()),
        beforeStore: (after: object) => record({ organisationId, after: { ...after } }),
      };
      return await importFile(file, clock, deps);
    },
  });

const previewAction = ({ largeBodies, limits }: OutcomesDeps): OutcomeFiles['preview'] =>
  defineAction<typeof previewOutcomesInput, typeof previewOutcomesOutput, QueuedCall>({
    name: 'outcomes.preview',
    description: 'Read a CSV of outcomes, or a part of it: its columns, its first rows and the values of a column.',
    role: 'admin',
    effect: 'read',
    input: previewOutcomesInput,
    output: previewOutcomesOutput,
    async run({ database }, input, call) {
      const { org_id: organisationId, line, header, goes_on: goesOn = false, crm_id: crmId, converted, at } = input;
      const words = await requireOrganisation(new OrganisationStore(database), organisationId);
      const { body } = call;
      const part = { ...partOf({ line, header }), goesOn };
      const form: TextForm = { hasMark: false, encoding: 'utf-8' };
      const pieces = piecesOf(body, { inflatedBytes: limits.maxBodyBytes, headerBytes: header }, form);
      const {
        columns,
        firstRows: first_rows,
        headerBytes,
        suggested,
        rows,
        withoutValue,
        values,
        endByte,
      } = await inTurn(largeBodies, call, () =>
        previewOutcomes(pieces, {
          columns: converted === undefined ? undefined : { crmId, converted, at },
          ...{ words, part, optionText, maxRows: converted === undefined ? firstRows : maxFileRows },
        }),
      );
      const mark = form.hasMark ? markBytes : 0;
      const before = header ?? 0;
      const bytes = (endByte === undefined ? body.length : endByte + mark) - before;
      return {
        ...{ encoding: form.encoding, columns, first_rows, suggested, rows, values },
        header_bytes: headerBytes + mark,
        without_value: withoutValue,
        bytes,
        next_line: positionIn(body.subarray(before), bytes, line ?? 1).line,
      };
    },
  });

/** @throws AdminError invalid_request for one of the two */
function partOf({
  line,
  header,
}: {
  readonly line: number | undefined;
  readonly header: number | undefined;
}): PartOfFile {
  if (line === undefined && header !== undefined) throw invalid('line', 'is missing beside header');
  if (header === undefined && line !== undefined) throw invalid('header', 'is missing beside line');
  return { rowsLine: line, headerBytes: header, goesOn: false };
}
