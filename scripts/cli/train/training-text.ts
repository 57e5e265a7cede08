import { countText, shareText } from '../../../shared/contract/figures.js';
import { lineWidth, type OutputStream } from '../context/cli-context.js';
import { renderFields } from '../output/table.js';
import type { FinishedTraining } from './training-messages.js';

/** A finished training for a person. */
export function trainingText({ bundle, report, training }: FinishedTraining, stream: OutputStream): string {
  const { rows, auc, top_lift: lift, conversion_rate: rate, left_out: leftOut } = training;
  const { value, low, high } = auc.held_out;
  const reasons = Object.entries(leftOut).map(([field, reason]) => `${field}: ${reason}`);
  return renderFields(
    [
      ['Score', training.name],
      ['Version', training.version],
      ['Leads', `${countText(Number(rows.leads))}, ${shareText(rate)} of them converted`],
      ['Held out', `${countText(rows.held_out)} leads: AUC ${digits(value)} (${digits(low)} to ${digits(high)})`],
      ['Top fifth', `converts ${lift.toFixed(2)} times as often as all`],
      ...reasons.map((reason, index): [string, string] => [index === 0 ? 'Left out' : '', reason]),
      ['Bundle', bundle],
      ['Report', report],
    ],
    { width: lineWidth(stream) },
  );
}

const digits = (auc: number): string => auc.toFixed(3);
