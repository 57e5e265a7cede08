import { knownTruths } from '../../../simulate/known-truth.js';
import { type Characteristic, characteristicOf } from '../../../simulate/operating-characteristics.js';
import { type OrganisationYear, simulateOrganisation } from '../../../simulate/organisation-year.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { renderRateChart } from '../../output/charts.js';
import { Progress } from '../../output/progress.js';
import { countText } from '../../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../../output/table.js';
import { wrapText } from '../../output/wrap-text.js';

/** Parsed options of `validation simulate`. */
export interface SimulateOptions {
  readonly runs: number;
  readonly seed: number;
  readonly weeks: number;
  readonly gradesADay: number;
  /** Simulates the year of one organisation. Default: true without `--json`. */
  readonly year?: boolean;
  readonly json?: boolean;
}

const leadsPerWeek = 140;

/** Runs the grader on one organisation over a year, and on many models of known quality. */
export async function simulateValidation(context: CliContext, options: SimulateOptions): Promise<CommandResult> {
  const stop = new AbortController();
  const onInterrupt = () => stop.abort();
  process.once('SIGINT', onInterrupt);
  try {
    const year =
      (options.year ?? options.json !== true) ? await simulateOneYear(context, options, stop.signal) : undefined;
    const scenarios = simulateYears(context, options, stop.signal);
    const width = lineWidth(context.stdout);
    const parts = [year && describeYear(year, width), describeScenarios(scenarios, options.gradesADay, width)];
    return {
      document: { scenarios, ...(year === undefined ? {} : { year: yearDocument(year) }) },
      text: parts.filter((part) => part !== undefined).join('\n\n'),
    };
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

async function simulateOneYear(
  { stderr }: CliContext,
  { weeks, seed, json }: SimulateOptions,
  signal: AbortSignal,
): Promise<OrganisationYear> {
  const progress =
    json === true ? undefined : new Progress({ stream: stderr, label: 'Simulating one year', unit: 'weeks' });
  progress?.start();
  try {
    return await simulateOrganisation({
      weeks,
      leadsAWeek: leadsPerWeek,
      seed,
      signal,
      progress: (done) => progress?.update({ done, fraction: done / weeks }),
    });
  } finally {
    progress?.stop();
  }
}

function simulateYears(
  { stderr }: CliContext,
  { runs, seed, gradesADay, json }: SimulateOptions,
  signal: AbortSignal,
): Characteristic[] {
  const progress =
    json === true ? undefined : new Progress({ stream: stderr, label: 'Simulating years', unit: 'years' });
  progress?.start();
  const done: Characteristic[] = [];
  for (const truth of knownTruths) {
    if (signal.aborted) break;
    done.push(characteristicOf(truth, { runs, seed, gradesADay }));
    progress?.update({ done: done.length * runs, fraction: done.length / knownTruths.length });
  }
  progress?.stop();
  return done;
}

function describeYear({ moves, last, records, outcomes, grades }: OrganisationYear, width: number): string {
  const columns: Columns<(typeof moves)[number]> = [
    ['Day', ({ day }) => String(day + 1), 'right'],
    ['State', ({ state }) => state],
    ['Summary', ({ summary }) => summary],
  ];
  const bands = [...(last.grade?.bands ?? [])].reverse().map(({ scores, ...bar }) => ({ label: scores, ...bar }));
  const intro = wrapText(
    `One organisation over a year: ${countText(records)} records scored and ${countText(outcomes)} outcomes ` +
      `reported over HTTP, ${countText(grades)} daily grades. Real: gateway (its clock advances every week), quota, ` +
      'queue, workers, ONNX, MongoDB and grader. Simulated: the leads and their outcomes.',
    width,
  );
  return [intro, tableOf(moves, columns, { width }), renderRateChart(bands, { width })].join('\n\n');
}

function describeScenarios(scenarios: readonly Characteristic[], gradesADay: number, width: number): string {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const columns: Columns<Characteristic> = [
    ['Model', ({ name }) => name, 'whole'],
    ['Passed', ({ passed, runs }) => percent(passed / runs), 'right'],
    ['Failed', ({ failed, runs }) => percent(failed / runs), 'right'],
    ['Too early', (years) => percent(years.too_early / years.runs), 'right'],
    ['Ever passed', (years) => percent(years.ever_passed / years.runs), 'right'],
    ['Days passed', (years) => percent(years.days_passed_share), 'right'],
  ];
  const intro = wrapText(
    `${countText(scenarios[0]?.runs ?? 0)} simulated years per model, with ${gradesADay === 1 ? 'a grade' : `up to ${gradesADay} grades`} a day by the code of the service. ` +
      'Columns: state at the end of the year, years with a passed grade, share of days with a passed grade.',
    width,
  );
  const meanings = renderFields(
    scenarios.map(({ name, meaning }) => [name, meaning] as const),
    { width },
  );
  return `${intro}\n\n${tableOf(scenarios, columns, { width })}\n\n${meanings}`;
}

const yearDocument = ({ moves, last, records, outcomes, grades }: OrganisationYear) => ({
  records,
  outcomes,
  grades,
  moves,
  state: last.state,
  gates: last.grade?.gates ?? [],
  bands: last.grade?.bands ?? [],
});
