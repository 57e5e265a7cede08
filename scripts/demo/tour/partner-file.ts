import { writeFile } from 'node:fs/promises';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import type { ScoreRow } from '../../cli/calls/api-reply.js';
import type { InputSums } from '../../cli/output/input-summary.js';
import { generateLeads } from '../../leads/lead-generator.js';
import { type LeadRecord, leadsCsv } from '../../leads/lead-record.js';
import type { DemoService } from './demo-service.js';
import { type ScoreTarget, scorePass } from './score-calls.js';
import type { Screen } from './screen.js';

/** Leads of the file. Each is scored twice. */
export const partnerLeads = 20;
export const renamed = { column: 'Lead Source', as: 'Lead Sources' } as const;
export const unknownIndustry = 'Biotech';

/** How a file that does not fit the model was read, and the scores of its leads after the correction. */
export interface PartnerFile {
  /** Leads with the unknown industry. */
  readonly unknown: number;
  /** How the fields of the first file were read. */
  readonly input: InputSums | undefined;
  /** The rows of the corrected file. */
  readonly corrected: readonly ScoreRow[];
}

/**
 * Scores a small file with a renamed column and an industry that the model has not seen, and then the same leads with
 * both corrected.
 * @param options.seed of the leads of the demo: these are others
 * @param options.features of the model
 * @throws as `scorePass`
 */
export async function scorePartnerFile(
  options: {
    readonly seed: number;
    readonly features: readonly Feature[];
    readonly target: ScoreTarget;
    readonly signal: AbortSignal;
  },
  { files }: Pick<DemoService, 'files'>,
  { stream }: Pick<Screen, 'stream'>,
): Promise<PartnerFile> {
  const { seed, features, target, signal } = options;
  const sent = knownLeads(seed + 1, features);
  const misfits = sent.map((record, index) => misfit(record, index % 3 === 0));
  await writeFile(files.partner, leadsCsv(misfits));
  await writeFile(files.corrected, leadsCsv(sent));
  const pass = (records: readonly LeadRecord[]) => scorePass({ ...target, records, label: 'Scoring' }, stream, signal);
  const first = await pass(misfits);
  const second = await pass(sent);
  return {
    unknown: misfits.filter(({ Industry }) => Industry === unknownIndustry).length,
    input: first.input,
    corrected: second.rows,
  };
}

/** Leads with ids of their own. The model knows all their values, so that only those that are changed stand out. */
function knownLeads(seed: number, features: readonly Feature[]): LeadRecord[] {
  const leads = generateLeads({ seed, count: 80 * partnerLeads, now: new Date() });
  return leads
    .filter(({ record, untidyFields }) => untidyFields.length === 0 && isKnown(record, features))
    .slice(0, partnerLeads)
    .map(({ record }, index) => ({ ...record, crm_id: `PARTNER-${String(index + 1).padStart(3, '0')}` }));
}

function isKnown(record: LeadRecord, features: readonly Feature[]): boolean {
  // An empty cell of the corrected file would take its value from the first one.
  if (record.Industry === null || record[renamed.column] === null) return false;
  return features.every((feature) => {
    const value = record[feature.field] ?? null;
    if (value === null || !('categories' in feature)) return true;
    return String(value)
      .split(';')
      .every((each) => feature.categories.includes(each));
  });
}

const misfit = (record: LeadRecord, hasUnknownIndustry: boolean): LeadRecord =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => {
      if (name === renamed.column) return [renamed.as, value];
      return [name, name === 'Industry' && hasUnknownIndustry ? unknownIndustry : value];
    }),
  );
