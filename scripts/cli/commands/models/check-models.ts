import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { CheckedModel } from '../../../../shared/messages/bundle-check-job.js';
import { runCheck } from '../../../../worker/bundle-checks/run-check.js';
import { type CliContext, type CommandResult, exitWhen, lineWidth } from '../../context/cli-context.js';
import { type Columns, tableOf } from '../../output/table.js';

/** Result of checking one bundle. */
interface Finding extends Partial<Pick<CheckedModel, 'golden' | 'explainMethod' | 'fallbackReason'>> {
  readonly bundle: string;
  readonly name?: string | undefined;
  readonly version?: string | undefined;
  readonly features?: number | undefined;
  /** Remarks on the model's answers. */
  readonly notes: readonly string[];
  /** Why the bundle is invalid; undefined when it is valid. */
  readonly problem?: string;
  /** `bad_bundle`, or `failed` if the check failed for another reason than the bundle. */
  readonly code?: string;
}

/** Checks bundles like `model import` and scores their golden records. The exit code is 1 when one fails. */
export async function checkModels({ clock, stdout }: CliContext, paths: readonly string[]): Promise<CommandResult> {
  const findings: Finding[] = [];
  for (const path of await bundlesAmong(paths)) findings.push(await check(path, clock.now()));
  const passed = findings.every(hasPassed);
  return {
    document: { passed, bundles: findings.map(documentOf) },
    text: describe(findings, lineWidth(stdout)),
    ...exitWhen(!passed),
  };
}

async function check(path: string, nowMs: number): Promise<Finding> {
  const bundle = basename(resolve(path));
  const { read, result } = await runCheck({ path, nowMs });
  const { name, version, features } = read?.manifest ?? {};
  const found = { bundle, ...(read === undefined ? {} : { name, version, features }) };
  if ('problem' in result)
    return { ...found, notes: [], problem: result.problem, code: result.isRefusal ? 'bad_bundle' : 'failed' };
  const { golden, explainMethod, fallbackReason, notes } = result;
  return { ...found, golden, explainMethod, fallbackReason, notes, ...(golden?.passed === false && badBundle) };
}

const badBundle = { code: 'bad_bundle' } as const;

const hasPassed = ({ problem, golden }: Finding): boolean => problem === undefined && golden?.passed !== false;

function documentOf(finding: Finding): Record<string, unknown> {
  const { golden, explainMethod, fallbackReason, notes, ...rest } = finding;
  return {
    ...rest,
    ...(explainMethod === undefined ? {} : { explain_method: explainMethod }),
    ...(fallbackReason === undefined ? {} : { occlusion_reason: fallbackReason }),
    ...(notes.length === 0 ? {} : { notes }),
    passed: hasPassed(finding),
    ...(golden === undefined
      ? {}
      : {
          golden: {
            records: golden.records,
            largest_raw_difference: golden.maxRawDifference ?? null,
            largest_contribution_difference: golden.maxContributionDifference ?? null,
            score_mismatches: golden.scoreMismatches,
            likelihood_mismatches: golden.likelihoodMismatches,
            differences: golden.differences,
          },
        }),
  };
}

function describe(findings: readonly Finding[], width: number): string {
  const columns: Columns<Finding> = [
    ['Bundle', ({ bundle }) => bundle, 'whole'],
    ['Version', ({ version = '' }) => version],
    ['Golden', ({ golden }) => String(golden?.records ?? 'none'), 'right'],
    ['Raw diff', ({ golden }) => golden?.maxRawDifference?.toExponential(1) ?? '', 'right'],
    ['Driver diff', ({ golden }) => golden?.maxContributionDifference?.toExponential(1) ?? '', 'right'],
    ['Drivers', ({ explainMethod = '' }) => explainMethod],
    ['Score', ({ golden }) => (golden === undefined ? '' : mismatches(golden.scoreMismatches))],
    ['Likelihood', ({ golden }) => (golden === undefined ? '' : mismatches(golden.likelihoodMismatches))],
    ['', (finding) => (hasPassed(finding) ? 'ok' : 'FAILED')],
  ];
  const details = findings.flatMap(({ bundle, problem, golden, fallbackReason, notes }) => [
    // Some problems already begin with the bundle's name.
    ...(problem === undefined ? [] : [problem.startsWith(`${bundle}: `) ? problem : `${bundle}: ${problem}`]),
    ...(fallbackReason === undefined ? [] : [`${bundle}: explained by occlusion, because ${fallbackReason}`]),
    ...notes.map((note) => `${bundle}: ${note}`),
    ...(golden?.passed === false ? golden.differences.map((difference) => `${bundle}: ${difference}`) : []),
  ]);
  return [tableOf(findings, columns, { width }), details.join('\n')].filter((part) => part !== '').join('\n\n');
}

/** Among several paths (`bundles/*`) keeps only folders and archives by name. A single path is always kept. */
async function bundlesAmong(paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 1) return paths;
  const kinds = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  const kept = paths.filter((path, index) => kinds[index]?.isFile() !== true || /\.(tar\.gz|tgz)$/i.test(path));
  return kept.length === 0 ? paths : kept;
}

const mismatches = (count: number): string => (count === 0 ? 'equal' : `${count} differ`);
