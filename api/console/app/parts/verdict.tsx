import { type FailingGate, validationGates } from '../../../../shared/contract/verdict.js';

/** The gates by the names that people read. */
export const gateTitles: Readonly<Record<FailingGate, string>> = {
  predictions_recorded: 'Enough leads scored',
  cohort_reconciles: 'The books agree',
  matured_cohort: 'Old enough to judge',
  outcomes_observed: 'Conversions seen',
  rate_rises_with_band: 'Higher scores convert more',
  top_band_lift: 'The best band is worth it',
};

/** The summary of a verdict, with the titles of its gates instead of their ids. */
export const summaryText = (summary: string): string =>
  validationGates.reduce((text, gate) => text.replaceAll(gate, `“${gateTitles[gate]}”`), summary);

/** The first clause of the summary as a sentence. The page of the model has the others. */
export const shortSummary = (summary: string): string => {
  const [first = '', ...others] = summaryText(summary).split('; ');
  return others.length === 0 ? first : `${first}.`;
};

const classNames: Readonly<Record<string, readonly [string, string]>> = {
  passed: ['good', 'passed'],
  failed: ['bad', 'failed'],
  too_early_to_grade: ['warn', 'too early'],
  unresolved: ['warn', 'unresolved'],
  not_applicable: ['', 'not graded'],
};

/** The state of a model's validation in one or two words. */
export function VerdictBadge({ state }: { readonly state: string }) {
  const [className, words] = classNames[state] ?? ['', state];
  return <span class={`badge ${className}`}>{words}</span>;
}

/** Whether programs may call a model. */
export function LiveBadge({ isOn }: { readonly isOn: boolean }) {
  return <span class={isOn ? 'badge on' : 'badge'}>Live API {isOn ? 'on' : 'off'}</span>;
}
