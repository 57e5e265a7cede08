import type { Manifest } from '../../../../shared/bundle/manifest/manifest.js';
import { dayMs } from '../../../../shared/contract/dates.js';
import { callIdFloor, callIdPrefix } from '../../../../shared/contract/identifiers.js';
import { bandScores, horizonDaysOf } from '../../../../shared/contract/verdict.js';
import { bandOf, type PredictionSegment } from '../../../../shared/store/calls/prediction-segment.js';
import { FirstScores, segmentsInOrder } from '../../../../shared/store/models/first-scores.js';
import { loadManifest } from '../../../../shared/store/models/model-versions.js';
import { pageOfIds } from '../../../../shared/store/models/segment-pages.js';
import { type FirstPrediction, figuresOfLead } from '../../../../worker/grading/cohort/lead-counts.js';
import { outcomesOfLeads } from '../../../../worker/grading/cohort/lead-outcomes.js';
import type { Snapshot } from '../../../../worker/grading/cohort/snapshot.js';
import { CliError } from '../../context/cli-error.js';
import { type TrainedFields, trainedFields, type VersionReader } from './version-cells.js';

/** A lead as it was at its first score, and what became of it. Without its id. */
export interface StoredLead {
  /** When the call scored it. */
  readonly at: Date;
  /** Whether it converted within the horizon. */
  readonly converted: boolean;
  /** Days from the score to the conversion; null for others. */
  readonly days: number | null;
  /** The answer of the service then. */
  readonly score: number;
  readonly likelihood: number;
  readonly version: string;
  /** The cells that were scored, one value a column of `TrainedFields`. */
  readonly cells: readonly unknown[];
}

/** Leads of one version that lacked fields. */
interface LackingVersion {
  readonly version: string;
  readonly fields: readonly string[];
  readonly leads: number;
}

/** How many leads there are, and why others were left out. */
export interface StoredLeadCounts {
  readonly leads: number;
  readonly conversions: number;
  /** First scores within these times count. */
  readonly since: Date;
  readonly until: Date;
  readonly leftOut: {
    /** No outcome names them. */
    readonly unnamed: number;
    /** The same by the band of their score. */
    readonly unnamedByBand: readonly number[];
    /** They had converted before their first score. */
    readonly convertedBefore: number;
    /** Their first score was before `since`. */
    readonly tooOld: number;
    /** Their first score was after `until`: their horizon is not over. */
    readonly tooYoung: number;
    readonly lacking: readonly LackingVersion[];
  };
}

export interface StoredLeadsQuery {
  readonly organisationId: string;
  readonly modelId: string;
  /** The version that scores calls. */
  readonly version: string;
  readonly skipped: readonly string[];
  /** Earlier first scores do not count. */
  readonly since?: Date;
  /** Outcomes are known up to this time at most. */
  readonly until?: Date;
}

/** A read of stored leads. */
export interface StoredLeadsRead {
  /** The current version has it. */
  readonly manifest: Manifest;
  readonly fields: TrainedFields;
  readonly horizonDays: number;
  readonly counts: StoredLeadCounts;
}

const windowMs = 365 * dayMs;
/** Records with their fields that are decoded in some milliseconds. */
const pageOfRows = 2_000;

/** A lead of which the outcome is not read yet. */
interface FirstRow extends FirstPrediction {
  readonly crmId: string;
  readonly lead: Omit<StoredLead, 'converted' | 'days'>;
}

/**
 * Reads the stored leads of a model at one instant, one row a lead: its first live score under any version.
 *
 * - The horizon of each must be over when the newest outcome arrived. The window is the year before.
 * - A lead that no outcome names, and one that had converted before its score, is left out.
 * - So is one whose version read fewer fields than the current one.
 * @param take stores some leads, in the order of their scores
 * @throws CliError without outcomes, for an unknown field, or for more leads than a set can hold; errors of MongoDB
 */
export async function readStoredLeads(
  snapshot: Snapshot,
  query: StoredLeadsQuery,
  { take, signal }: { readonly take: (leads: readonly StoredLead[]) => Promise<void>; readonly signal: AbortSignal },
): Promise<StoredLeadsRead> {
  const { database, session } = snapshot;
  const { organisationId: org, modelId: model } = query;
  const manifestOf = async (version: string) => {
    const manifest = await loadManifest(database, model, version);
    if (manifest !== undefined) return manifest;
    throw new CliError(`Version "${version}" of ${model} is no longer stored`, { code: 'not_found' });
  };
  const current = await manifestOf(query.version);
  const fields = fieldsOf(current, query);
  const horizonDays = horizonDaysOf(current.validation);
  const { since, until } = await windowOf(snapshot, query, horizonDays);

  const [sinceId, untilId] = [callIdFloor(since.getTime(), org), callIdFloor(until.getTime() + 1, org)];
  const means = { session, signal };
  const firsts = new FirstScores();
  const countFirsts = async (afterId: string, endId: string): Promise<number> => {
    const range = { org, model, afterId, untilId: endId, columns: [], pageRecords: pageOfIds };
    let count = 0;
    for await (const segment of segmentsInOrder(database, range, means)) count += firsts.rowsOf(segment.crm_ids).length;
    return count;
  };
  const tooOld = await countFirsts(callIdPrefix(org), sinceId);

  const sums = { leads: 0, conversions: 0, convertedBefore: 0 };
  const unnamedByBand = bandScores.map(() => 0);
  const lacking = new Map<string, LackingVersion>();
  const readers = new Map<string, VersionReader>();
  const graded = { organisationId: org, modelId: model, version: query.version, horizonDays };
  let batch: FirstRow[] = [];
  const flush = async (): Promise<void> => {
    const found = await withOutcomes(snapshot, graded, batch);
    batch = [];
    sums.leads += found.leads.length;
    sums.conversions += found.leads.filter(({ converted }) => converted).length;
    for (const band of found.unnamedBands) unnamedByBand[band] = (unnamedByBand[band] ?? 0) + 1;
    sums.convertedBefore += found.convertedBefore;
    if (found.leads.length > 0) await take(found.leads);
  };
  const range = { org, model, afterId: sinceId, untilId, columns, pageRecords: pageOfRows };
  for await (const segment of segmentsInOrder(database, range, means)) {
    const rows = firsts.rowsOf(segment.crm_ids);
    if (rows.length === 0) continue;
    const { version } = segment;
    const reader = readers.get(version) ?? fields.readerOf(await manifestOf(version));
    readers.set(version, reader);
    if (reader.lacks.length > 0) {
      const leads = (lacking.get(version)?.leads ?? 0) + rows.length;
      lacking.set(version, { version, fields: reader.lacks, leads });
      continue;
    }
    batch.push(...firstRowsOf(segment, rows, reader));
    if (batch.length >= pageOfRows) await flush();
  }
  await flush();
  const tooYoung = await countFirsts(untilId, `${callIdPrefix(org)}~`);
  if (firsts.isFull)
    throw new CliError('The model has scored more leads than can be distinguished, which are some five million', {
      code: 'too_many_leads',
    });
  const { leads, conversions, convertedBefore } = sums;
  const unnamed = unnamedByBand.reduce((sum, count) => sum + count, 0);
  const leftOut = { unnamed, unnamedByBand, convertedBefore, tooOld, tooYoung, lacking: [...lacking.values()] };
  return { manifest: current, fields, horizonDays, counts: { leads, conversions, since, until, leftOut } };
}

const columns = ['version', 'at', 'scores', 'likelihoods', 'fields'] as const;
type RowSegment = Pick<PredictionSegment, 'crm_ids' | (typeof columns)[number]>;

/** @throws CliError for a field that the current version does not read */
function fieldsOf(current: Manifest, { modelId, version, skipped }: StoredLeadsQuery): TrainedFields {
  const known = [...new Set(current.features.map(({ field }) => field))];
  const unknown = skipped.find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw new CliError(
      `--skip names "${unknown}", which version "${version}" of ${modelId} does not read. Its fields are ${known.join(', ')}`,
      { code: 'unknown_column' },
    );
  if (known.length <= new Set(skipped).size)
    throw new CliError('--skip names all fields of the model, and none is left to train on', { code: 'no_fields' });
  return trainedFields(current, new Set(skipped));
}

/** The times of the first scores that count. */
async function windowOf(
  { database, session }: Snapshot,
  { organisationId: org, since, until }: StoredLeadsQuery,
  horizonDays: number,
): Promise<{ readonly since: Date; readonly until: Date }> {
  const newestOf = [{ $match: { org } }, { $group: { _id: null, newest: { $max: '$received_at' } } }];
  const [found] = await database.collection('outcomes').aggregate<{ newest: Date }>(newestOf, { session }).toArray();
  if (found === undefined)
    throw new CliError(
      `${org} has no outcomes: nothing says which leads converted. Send them: npx leadscore outcomes import --help`,
      { code: 'no_outcomes' },
    );
  const knownMs = Math.min(found.newest.getTime(), until?.getTime() ?? Number.POSITIVE_INFINITY);
  const untilMs = knownMs - horizonDays * dayMs;
  return { since: new Date(Math.max(untilMs - windowMs, since?.getTime() ?? 0)), until: new Date(untilMs) };
}

function firstRowsOf(segment: RowSegment, rows: readonly number[], reader: VersionReader): FirstRow[] {
  const { at, version, crm_ids: crmIds, scores, likelihoods, fields } = segment;
  return rows.flatMap((row) => {
    const [crmId, text] = [crmIds[row], fields[row]];
    if (typeof crmId !== 'string' || typeof text !== 'string') return [];
    const [score, likelihood] = [scores[row] ?? 0, likelihoods[row] ?? 0];
    const lead = { at, score, likelihood: likelihood / 10_000, version, cells: reader.valuesOf(text) };
    return [{ crmId, at, band: bandOf(score), likelihood, lead }];
  });
}

/** Gives leads their outcomes. Leads without one, and leads that had converted before, are only counted. */
async function withOutcomes(
  snapshot: Snapshot,
  graded: Parameters<typeof outcomesOfLeads>[1],
  rows: readonly FirstRow[],
): Promise<{
  readonly leads: readonly StoredLead[];
  readonly unnamedBands: readonly number[];
  readonly convertedBefore: number;
}> {
  const outcomes = new Map<string, { readonly converted: boolean; readonly at: Date }>();
  const ids = rows.map(({ crmId }) => crmId);
  for await (const some of outcomesOfLeads(snapshot, graded, ids))
    for (const outcome of some) outcomes.set(outcome.crm_id, outcome);
  const leads: StoredLead[] = [];
  const unnamedBands: number[] = [];
  let convertedBefore = 0;
  for (const first of rows) {
    const outcome = outcomes.get(first.crmId);
    const { excluded, joined, conversions } = figuresOfLead(first, outcome, graded.horizonDays * dayMs);
    convertedBefore += excluded;
    if (excluded === 0 && joined === 0) unnamedBands.push(first.band);
    if (joined === 0 || outcome === undefined) continue;
    const converted = conversions > 0;
    const days = converted ? (outcome.at.getTime() - first.at.getTime()) / dayMs : null;
    leads.push({ ...first.lead, converted, days });
  }
  return { leads, unnamedBands, convertedBefore };
}
