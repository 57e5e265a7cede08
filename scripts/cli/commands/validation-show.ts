import { type VerdictDetail, Verdicts } from '../../../api/verdicts.js';
import { createLogger } from '../../../shared/logger.js';
import { ValidationStore } from '../../../shared/store/model-validation.js';
import { type Model, ModelStore } from '../../../shared/store/models.js';
import type { BandRate, GateResult, GateState } from '../../../shared/verdict.js';
import { renderRateChart } from '../../terminal/rate-chart.js';
import { readableDate } from '../../terminal/readable-numbers.js';
import { renderFields, renderTable } from '../../terminal/table.js';
import { type CliContext, type CommandResult, lineWidth } from '../cli-context.js';
import { gateFigures } from '../validation/gate-figures.js';
import { requireModel } from './model-show.js';

/** Shows what callers read of a model's validation, with the gates behind it. */
export async function showValidation(context: CliContext, modelId: string): Promise<CommandResult> {
  const { connections, clock, stdout } = context;
  const database = await connections.database();
  const model = await requireModel(new ModelStore(database), modelId);
  const verdicts = new Verdicts({
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

/** The verdict in words, the gates as a table, the rates as a chart. */
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
    gates === undefined &&
      state === 'too_early_to_grade' &&
      `Grade it: npx leadscore validation run ${model._id}`,
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
  const isAnyLacking = gates.some(({ needs }) => needs !== undefined);
  const columns = [
    { name: 'Gate', whole: true },
    { name: 'State', whole: true },
    { name: 'Figures' },
    ...(isAnyLacking ? [{ name: 'Still needed, or wrong' }] : []),
  ];
  const rows = gates.map((gate) => [gate.gate, stateWords[gate.state], gateFigures(gate), gate.needs ?? '']);
  return renderTable(columns, rows, { width });
}

function bandChart(bands: readonly BandRate[], width: number): string {
  const bars = [...bands].reverse().map(({ scores, ...bar }) => ({ label: scores, ...bar }));
  const title = 'Conversion rate by score, of matured and named records (95 % interval)';
  return `${title}\n\n${renderRateChart(bars, { width })}`;
}
