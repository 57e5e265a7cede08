import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { readBundle } from '../../../../shared/bundle/archive/read-bundle.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { messageOf } from '../../../../shared/contract/errors.js';
import type { ExplainMethod } from '../../../../shared/messages/score-job.js';
import { type GoldenComparison, runBundle } from '../../../../worker/bundle-checks/golden-check.js';
import { ModelUnavailable } from '../../../../worker/models/loaded-model.js';
import { type CliContext, type CommandResult, exitWhen, lineWidth } from '../../context/cli-context.js';
import { renderTable } from '../../output/table.js';

/** Result of checking one bundle. */
interface Finding {
  readonly bundle: string;
  readonly name?: string;
  readonly version?: string;
  readonly features?: number;
  readonly golden?: GoldenComparison;
  readonly explainMethod?: ExplainMethod;
  /** Why the model is explained by occlusion; undefined for an exact method. */
  readonly fallbackReason?: string;
  /** Why the bundle is invalid; undefined when it is valid. */
  readonly problem?: string;
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
  try {
    const checked = checkBundle(await readBundle(path));
    const { name, version, features } = checked.manifest;
    const { golden, explainMethod, fallbackReason } = await runBundle(checked, { nowMs });
    return {
      ...{ bundle, name, version, features: features.length, explainMethod },
      ...(fallbackReason === undefined ? {} : { fallbackReason }),
      ...(golden === undefined ? {} : { golden }),
    };
  } catch (error) {
    return { bundle, problem: problemOf(error) };
  }
}

/** The error message, with the message of ONNX when the model does not compile. */
const problemOf = (error: unknown): string =>
  error instanceof ModelUnavailable && error.cause !== undefined
    ? `${error.message}: ${messageOf(error.cause)}`
    : messageOf(error);

const hasPassed = ({ problem, golden }: Finding): boolean => problem === undefined && golden?.passed !== false;

function documentOf({ golden, explainMethod, fallbackReason, ...finding }: Finding): Record<string, unknown> {
  return {
    ...finding,
    ...(explainMethod === undefined ? {} : { explain_method: explainMethod }),
    ...(fallbackReason === undefined ? {} : { occlusion_reason: fallbackReason }),
    passed: hasPassed({ ...finding, ...(golden === undefined ? {} : { golden }) }),
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
  const columns = [
    { name: 'Bundle', whole: true },
    { name: 'Version' },
    { name: 'Golden', align: 'right' },
    { name: 'Raw diff', align: 'right' },
    { name: 'Driver diff', align: 'right' },
    { name: 'Drivers' },
    { name: 'Score' },
    { name: 'Likelihood' },
    { name: '' },
  ] as const;
  const rows = findings.map((finding) => {
    const { bundle, version = '', golden } = finding;
    return [
      bundle,
      version,
      golden === undefined ? 'none' : String(golden.records),
      golden?.maxRawDifference?.toExponential(1) ?? '',
      golden?.maxContributionDifference?.toExponential(1) ?? '',
      finding.explainMethod ?? '',
      golden === undefined ? '' : mismatches(golden.scoreMismatches),
      golden === undefined ? '' : mismatches(golden.likelihoodMismatches),
      hasPassed(finding) ? 'ok' : 'FAILED',
    ];
  });
  const details = findings.flatMap(({ bundle, problem, golden, fallbackReason }) => [
    // Some problems already begin with the bundle's name.
    ...(problem === undefined ? [] : [problem.startsWith(`${bundle}: `) ? problem : `${bundle}: ${problem}`]),
    ...(fallbackReason === undefined ? [] : [`${bundle}: explained by occlusion, because ${fallbackReason}`]),
    ...(golden?.passed === false ? golden.differences.map((difference) => `${bundle}: ${difference}`) : []),
  ]);
  return [renderTable(columns, rows, { width }), details.join('\n')].filter((part) => part !== '').join('\n\n');
}

/** Among several paths (`bundles/*`) keeps only folders and archives by name. A single path is always kept. */
async function bundlesAmong(paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 1) return paths;
  const kinds = await Promise.all(paths.map((path) => stat(path).catch(() => undefined)));
  const kept = paths.filter((path, index) => kinds[index]?.isFile() !== true || /\.(tar\.gz|tgz)$/i.test(path));
  return kept.length === 0 ? paths : kept;
}

const mismatches = (count: number): string => (count === 0 ? 'equal' : `${count} differ`);
