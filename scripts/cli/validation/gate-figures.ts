import type { FailingGate, GateResult } from '../../../shared/verdict.js';
import { readableCount } from '../../terminal/readable-numbers.js';

/** A figure of a gate by its name, as a person reads it; beside the one that it must reach, on the same side of it. */
type Read = (name: string, required?: string | number) => string;

/** The figures of a gate in a few words, with what is required of them. */
export function gateFigures({ gate, figures }: GateResult): string {
  const read: Read = (name, required) =>
    readable(figures[name], typeof required === 'string' ? figures[required] : required);
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
      `trend z ${read('z')}, p ${read('p', 'required_p')} (below ${read('required_p')})`,
      `worst drop p ${read('worst_drop_p', 'drop_threshold')} (not below ${read('drop_threshold')})`,
    ].join('\n'),
  top_band_lift: (read) =>
    [
      `${read('lift', 'required_lift')}x (${read('required_lift')}x required), lower bound ${read('lower_bound', 1)}x (above 1x)`,
      // Bands may have been merged: the top one of the chart is then not the one that is judged.
      `top band ${read('top_conversions')} of ${read('top_records')}, others ${read('rest_conversions')} of ${read('rest_records')}`,
    ].join('\n'),
};

/** Digits of a figure: more than the fewest only where it would seem to be what is required of it, and is not. */
const digitsShown = [3, 4, 5, 6] as const;

function readable(value: number | undefined, required?: number): string {
  if (value === undefined) return '-';
  if (Number.isInteger(value)) return readableCount(value);
  const texts = digitsShown.map((digits) => withDigits(value, digits));
  const onItsSide = (text: string): boolean =>
    required === undefined || Math.sign(Number(text) - required) === Math.sign(value - required);
  return texts.find(onItsSide) ?? texts.at(-1) ?? '';
}

function withDigits(value: number, digits: number): string {
  const size = Math.abs(value);
  if (size < 0.001) return value.toExponential(digits - 2);
  return size >= 10 ** digits - 0.5 ? readableCount(Math.round(value)) : value.toPrecision(digits);
}

/** Rounded down, so that it never claims what was not reached. */
const percent = (share: number | undefined): string =>
  share === undefined ? '-' : `${(Math.floor(1000 * share + 1e-9) / 10).toFixed(share === 1 ? 0 : 1)} %`;
