import type { FailingGate, GateResult } from '../../../shared/verdict.js';
import { readableCount } from '../../terminal/readable-numbers.js';

/** A figure of a gate by its name, as a person reads it. */
type Read = (name: string) => string;

/** The figures of a gate in a few words, with what is required of them. */
export function gateFigures({ gate, figures }: GateResult): string {
  const read: Read = (name) => readable(figures[name]);
  return words[gate](read, (name) => percent(figures[name]));
}

const words: Readonly<Record<FailingGate, (read: Read, share: Read) => string>> = {
  predictions_recorded: (read) => `${read('cohort')} of ${read('required')} leads predicted`,
  cohort_reconciles: (read, share) =>
    [
      `ledger ${read('ledger_records')}, stored ${read('stored_rows')}`,
      `cohort ${read('cohort')}, repeats ${read('repeats')}, without crm_id ${read('without_crm_id')}`,
      `converted before ${read('excluded')}, erased ${read('erased')}`,
      `named by outcome data ${read('joined')} of ${read('joinable')} (${share('joined_share')}, ${share('required_share')} required)`,
    ].join('\n'),
  matured_cohort: (read) =>
    `${read('matured_and_joined')} of ${read('required')} matured and named (${read('matured')} matured, ${read('horizon_days')} days)`,
  outcomes_observed: (read) =>
    [
      `${read('conversions')} of ${read('required_conversions')} conversions, ${read('expected_conversions')} expected`,
      `${read('non_conversions')} of ${read('required_non_conversions')} others`,
      `${read('comparable_bands')} of ${read('required_bands')} comparable bands`,
    ].join('\n'),
  rate_rises_with_band: (read) =>
    [
      `trend z ${read('z')}, p ${read('p')} (below ${read('required_p')})`,
      `worst drop p ${read('worst_drop_p')} (not below ${read('drop_threshold')})`,
    ].join('\n'),
  top_band_lift: (read) =>
    `${read('lift')}x (${read('required_lift')}x required), lower bound ${read('lower_bound')}x (above 1x)`,
};

function readable(value: number | undefined): string {
  if (value === undefined) return '-';
  if (Number.isInteger(value)) return readableCount(value);
  return Math.abs(value) < 0.001 ? value.toExponential(1) : value.toPrecision(3);
}

const percent = (value: number | undefined): string =>
  value === undefined ? '-' : `${(100 * value).toFixed(value === 1 ? 0 : 1)} %`;
