import { countText, shareText } from '../../../../shared/contract/figures.js';
import { requiredPredictions } from '../../../../shared/contract/verdict.js';
import { redisNowMs } from '../../../../shared/redis/connect.js';
import { ErasureStore } from '../../../../shared/store/calls/erasures.js';
import { ModelStore } from '../../../../shared/store/models/models.js';
import { inSnapshot } from '../../../../worker/grading/cohort/snapshot.js';
import { requiredJoined } from '../../../../worker/grading/gates/gates.js';
import type { CliContext } from '../../context/cli-context.js';
import { CliError, declined, notFound } from '../../context/cli-error.js';
import { recordCommand } from '../../context/perform.js';
import { RowsFile } from './rows-file.js';
import { readStoredLeads, type StoredLeadCounts, type StoredLeadsQuery, type StoredLeadsRead } from './stored-leads.js';

/** Leads that wait for the training. The caller closes `rows`. */
export interface CollectedLeads extends StoredLeadsRead {
  readonly version: string;
  readonly rows: RowsFile;
}

export interface CollectOptions extends Omit<StoredLeadsQuery, 'version'> {
  /** Goes on although many leads have no outcome. */
  readonly yes: boolean;
  readonly signal: AbortSignal;
}

/** As the gates require; of both classes. */
const required = { leads: requiredPredictions, ofAClass: 30 };

/**
 * Reads the stored leads of a model into a file without a name, and writes one entry of the audit log.
 * @throws CliError when there are too few, when too many have no outcome, or when leads were erased meanwhile
 */
export async function collectLeads(context: CliContext, options: CollectOptions): Promise<CollectedLeads> {
  const { organisationId, modelId, signal } = options;
  const database = await context.connections.database();
  const model = await new ModelStore(database).find(modelId);
  if (model === undefined || model.organisation_id !== organisationId)
    throw notFound(`model ${modelId} of ${organisationId}`, `model list ${organisationId}`);
  const { version } = model;
  const redis = await context.connections.redis();
  const startedAt = new Date(await redisNowMs(redis));
  const rows = await RowsFile.open();
  try {
    const query = { ...options, version };
    const take = rows.add.bind(rows);
    const read = await inSnapshot(database, (session) =>
      readStoredLeads({ database, session }, query, { take, signal }),
    );
    checkEnough(read.counts);
    await checkNamed(context, read.counts, options);
    if ((await new ErasureStore(database).countSince(organisationId, startedAt)) > 0)
      throw new CliError(
        'Leads were erased while they were read, and the rows may hold them. They were discarded. Run the command again in two minutes',
        { code: 'erased_meanwhile' },
      );
    const { leads, conversions } = read.counts;
    const after = { version, leads, conversions, skipped: options.skipped };
    await recordCommand(context, 'model.train', { organisationId, target: modelId, after });
    return { ...read, version, rows };
  } catch (error) {
    await rows.close();
    throw error;
  }
}

/** @throws CliError with the reasons why leads were left out */
function checkEnough(counts: StoredLeadCounts): void {
  const { leads, conversions } = counts;
  const others = leads - conversions;
  if (leads >= required.leads && Math.min(conversions, others) >= required.ofAClass) return;
  throw new CliError(
    `A model needs ${required.leads} leads, of which ${required.ofAClass} converted and ${required.ofAClass} did not. ` +
      `There are ${countText(leads)}, of which ${countText(conversions)} converted. ${leftOutText(counts)}`,
    { code: 'too_few_leads', details: { leads, conversions } },
  );
}

/** Leads that sales never reported on may be the lost ones, and a model without them takes most leads for won. */
async function checkNamed(
  context: CliContext,
  { leads, leftOut: { unnamed } }: StoredLeadCounts,
  { yes, organisationId }: CollectOptions,
): Promise<void> {
  const share = leads / (leads + unnamed);
  if (yes || share >= requiredJoined) return;
  const problem =
    `Outcomes name ${shareText(share)} of the leads, and ${countText(unnamed)} have none. ` +
    'If lost leads are not reported, a model takes most leads for won';
  if (!context.canAsk)
    throw new CliError(
      `${problem}. Report them (npx leadscore outcomes import FILE --org ${organisationId}), or add --yes`,
      { code: 'unnamed_leads', details: { leads, unnamed } },
    );
  if (await context.confirm(`${problem}. Train without them?`)) return;
  throw declined('Nothing was trained.');
}

/** Why leads were left out, as sentences. */
export function leftOutText({ since, until, leftOut }: StoredLeadCounts): string {
  const { unnamed, convertedBefore, tooOld, tooYoung, lacking } = leftOut;
  const day = (date: Date): string => date.toISOString().slice(0, 10);
  const counted = [
    ...(tooYoung > 0 ? [`${countText(tooYoung)} first scored after ${day(until)}, whose horizon is not over`] : []),
    ...(tooOld > 0 ? [`${countText(tooOld)} first scored before ${day(since)}`] : []),
    ...(unnamed > 0 ? [`${countText(unnamed)} without an outcome`] : []),
    ...(convertedBefore > 0 ? [`${countText(convertedBefore)} that had converted before their first score`] : []),
  ];
  const ofVersions = lacking.map(
    ({ version, fields, leads }) =>
      `${countText(leads)} leads were scored by version "${version}" without ${fields.join(', ')}: ` +
      `${fields.map((field) => `--skip ${JSON.stringify(field)}`).join(' ')} brings them back.`,
  );
  return [...(counted.length === 0 ? [] : [`Left out: ${counted.join('; ')}.`]), ...ofVersions].join(' ');
}
