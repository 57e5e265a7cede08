import { figureText, liftText, shareText } from '../../../../shared/contract/figures.js';
import type { BandRate, FailingGate, GateResult, GateState } from '../../../../shared/contract/verdict.js';
import { createLogger } from '../../../../shared/process/logger.js';
import { type Model, ModelStore } from '../../../../shared/store/models/models.js';
import { ValidationStore } from '../../../../shared/store/validation/model-validation.js';
import { ModelVerdicts, type VerdictDetail } from '../../../../shared/store/validation/model-verdicts.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { renderRateChart } from '../../output/charts.js';
import { readableDate } from '../../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../../output/table.js';
import { requireModel } from '../models/show-model.js';

/** Shows the verdict that callers receive, with the figures of the gates. */
export async function showValidation(context: CliContext, modelId: string): Promise<CommandResult> {
  const { connections, clock, stdout } = context;
  const database = await connections.database();
  const model = await requireModel(new ModelStore(database), modelId);
  const verdicts = new ModelVerdicts({
    validation: new ValidationStore(database),
    clock,
    logger: createLogger('silent', 'cli'),
  });
  const validation = await verdicts.detailOf(model);
  return {
    document: { model_id: model._id, version: model.version, validation },
    text: describeValidation(model, validation, lineWidth(stdout)),
  };
}

/** Renders the verdict, a table of the gates and a chart of the conversion rates. */
export function describeValidation(model: Model, validation: VerdictDetail, width: number): string {
  const { state, summary, as_of, graded_at, gates, bands } = validation;
  const gradedAt = graded_at && `${readableDate(new Date(graded_at))} UTC`;
  const head = renderFields(
    [
      ['Model', `${model._id} (${model.name}), version ${model.version}`],
      ['State', state],
      ['', summary],
      ['Graded', as_of === graded_at ? gradedAt : `${gradedAt}, as of ${as_of}`],
    ],
    { width },
  );
  const parts = [
    head,
    gates && gateTable(gates, width),
    bands && bandChart(bands, width),
    graded_at === undefined && state === 'too_early_to_grade' && `Grade it: npx leadscore validation run ${model._id}`,
  ];
  return parts.filter((part) => typeof part === 'string').join('\n\n');
}

const stateWords: Readonly<Record<GateState, string>> = {
  cleared: 'cleared',
  too_early: 'too early',
  failed: 'FAILED',
  not_reached: 'not reached',
};

function gateTable(gates: readonly GateResult[], width: number): string {
  const hasNeeds = gates.some(({ needs }) => needs !== undefined);
  const columns: Columns<GateResult> = [
    ['Gate', ({ gate }) => gate, 'whole'],
    ['State', ({ state }) => stateWords[state], 'whole'],
    ['Figures', gateFigures],
    ...(hasNeeds ? [['Missing or wrong', ({ needs = '' }: GateResult) => needs] as const] : []),
  ];
  return tableOf(gates, columns, { width });
}

function bandChart(bands: readonly BandRate[], width: number): string {
  const bars = [...bands].reverse().map(({ scores, ...bar }) => ({ label: scores, ...bar }));
  const title = 'Conversion rate by score, matured records with known outcome (95 % interval)';
  return `${title}\n\n${renderRateChart(bars, { width })}`;
}

/** Formats a figure by name. The text never rounds across the figure named `required`. */
type Read = (name: string, required?: string) => string;

/** Formats the figures of a gate with their required values; empty before the first grade. */
export function gateFigures({ gate, figures }: GateResult): string {
  if (Object.keys(figures).length === 0) return '';
  const textOf = (name: string, write: (figure: number) => string): string => {
    const figure = figures[name];
    return figure === undefined ? '-' : write(figure);
  };
  return words[gate]({
    read: (name, required = '') => textOf(name, (figure) => figureText(figure, ...[figures[required] ?? []].flat())),
    share: (name) => textOf(name, shareText),
    lift: (name) => textOf(name, liftText),
  });
}

interface Readers {
  readonly read: Read;
  readonly share: Read;
  readonly lift: Read;
}

const words: Readonly<Record<FailingGate, (readers: Readers) => string>> = {
  predictions_recorded: ({ read }) => `${read('cohort')} of ${read('required')} leads predicted`,
  cohort_reconciles: ({ read, share }) =>
    [
      `ledger ${read('ledger_records')}, stored ${read('stored_rows')}`,
      `cohort ${read('cohort')}, repeats ${read('repeats')}, without crm_id ${read('without_crm_id')}`,
      `converted before ${read('excluded')}, erased ${read('erased')}`,
      `named by outcome data ${read('joined')} of ${read('joinable')} (${share('joined_share')}, ${share('required_share')} required)`,
    ].join('\n'),
  matured_cohort: ({ read }) =>
    `${read('matured_and_joined')} of ${read('required')} matured and named (${read('matured')} matured, ${read('horizon_days')} days)`,
  outcomes_observed: ({ read }) =>
    [
      `${read('conversions')} of ${read('required_conversions')} conversions, ${read('expected_conversions')} expected`,
      `${read('non_conversions')} of ${read('required_non_conversions')} others`,
      `${read('comparable_bands')} of ${read('required_bands')} comparable bands`,
    ].join('\n'),
  rate_rises_with_band: ({ read }) =>
    [
      `trend z ${read('z')}, p ${read('p', 'required_p')} (below ${read('required_p')})`,
      `worst drop p ${read('worst_drop_p', 'drop_threshold')} (not below ${read('drop_threshold')})`,
    ].join('\n'),
  top_band_lift: ({ read, lift }) =>
    [
      `${lift('lift')} (${lift('required_lift')} required), lower bound ${lift('lower_bound')} (above 1x)`,
      // Bands may have been merged, so the judged top band can differ from the top band of the chart.
      `top band ${read('top_conversions')} of ${read('top_records')}, others ${read('rest_conversions')} of ${read('rest_records')}`,
    ].join('\n'),
};
