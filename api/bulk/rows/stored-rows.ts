import type { Db } from 'mongodb';
import type { Cell } from '../../../shared/messages/cells.js';
import type { KnownFields } from '../../../shared/messages/field-slots.js';
import type { Job, JobSlice } from '../../../shared/store/jobs/job-documents.js';
import { readStoredLeads, type StoredLead, sentSince } from '../../../shared/store/jobs/stored-leads.js';
import type { WorkspaceCache } from '../../admission/workspace-cache.js';
import type { AdmittedModel } from '../../call/scoring-call.js';
import type { ParsedRow } from './parse-rows.js';
import { type SliceRows, sliceRows } from './slice-rows.js';

export interface StoredRowsDeps {
  readonly database: Db;
  readonly workspaces: Pick<WorkspaceCache, 'manifest'>;
}

/**
 * Reads the leads of a slice of stored leads, and the values that each was scored from. A lead that was sent once more
 * since the job was created has the values of its newest call. Its latest score must not come from older ones.
 *
 * The caller has read the time of the call before. So a lead that is erased later is found by the second erasure, and
 * one that was erased before is an empty row.
 * @param input the prediction ids
 * @throws errors of MongoDB
 */
export async function storedRows(
  job: Pick<Job, 'org' | 'model' | 'created_at'>,
  { slice, input }: { readonly slice: JobSlice; readonly input: Buffer },
  model: AdmittedModel,
  { database, workspaces }: StoredRowsDeps,
): Promise<SliceRows> {
  const ids = String(input).split('\n');
  const leads = await readStoredLeads(database, ids);
  const sentAgain = await sentSince(
    database,
    job,
    [...leads.values()].map(({ crmId }) => crmId),
  );
  const newer = await readStoredLeads(database, [...sentAgain.values()]);
  const latest = ids.map((id) => {
    const lead = leads.get(id);
    return newer.get(sentAgain.get(lead?.crmId ?? '') ?? '') ?? lead;
  });
  const fieldsOf = new Map<string, KnownFields | undefined>();
  for (const version of new Set(latest.flatMap((lead) => lead?.version ?? [])))
    fieldsOf.set(version, (await workspaces.manifest(model.id, version))?.knownFields);
  const parsed = latest.map((lead, index): ParsedRow => {
    const row = slice.first_row + index;
    const empty = { row, line: row, text: '', input: '', crmId: null, record: undefined, problem: undefined };
    if (lead === undefined) return empty;
    const { crmId } = lead;
    const values = valuesOf(lead, model, fieldsOf.get(lead.version));
    return 'message' in values
      ? { ...empty, crmId, problem: { field: '', message: values.message } }
      : { ...empty, crmId, record: { crmId, fields: {}, packed: values.packed } };
  });
  return sliceRows(parsed, slice);
}

/** The cells of a lead under the version that scores it. Cells of the same version are sent as they are. */
function valuesOf(
  { version, fields }: StoredLead,
  model: AdmittedModel,
  recordedBy: KnownFields | undefined,
): { readonly packed: string } | { readonly message: string } {
  if (fields === undefined) return { message: 'The stored values are too long to be scored again. Send the lead' };
  if (version === model.version) return { packed: fields };
  if (recordedBy === undefined)
    return { message: `The version ${version}, under which the values are stored, is no longer stored. Send the lead` };
  return { packed: cellsUnder(model.knownFields, { names: recordedBy.slotNames, text: fields }) };
}

/** Brings the cells that were recorded under one version to the slots of another, as JSON. */
export function cellsUnder(
  knownFields: KnownFields,
  { names, text }: { readonly names: readonly string[]; readonly text: string },
): string {
  const cells = new Array<Cell>(knownFields.slotCount).fill(undefined);
  knownFields.mergeStored({ cells, stored: { names, cells: JSON.parse(text) } });
  return JSON.stringify(cells);
}
