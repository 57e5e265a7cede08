import { renderTable } from '../terminal/table.js';
import { type BesidePython, type BesideRow, explainedBy } from './explain-beside.js';

const ratio = (row: BesideRow, by: (typeof explainedBy)[number]): number =>
  row.cpuMs[by].median / row.cpuMs.service.median;

/** The rows as `--json` prints them: CPU-milliseconds of one call, and by how much the service needs less. */
export const besideDocument = ({ rows, versions }: BesidePython) => ({
  versions,
  rows: rows.map((row) => ({
    model: row.model,
    records: row.records,
    cpu_ms: Object.fromEntries(explainedBy.map((by) => [by, Number(row.cpuMs[by].median.toFixed(3))])),
    times_the_service: Object.fromEntries(explainedBy.map((by) => [by, Number(ratio(row, by).toFixed(2))])),
    largest_difference: row.largestDifference,
  })),
});

/** A table: CPU-milliseconds side by side, with what each needs by what the service needs in brackets. */
export function besideTable({ rows, versions }: BesidePython): string {
  const { lightgbm, xgboost, shap } = versions;
  const columns = [
    { name: 'CPU-ms of one call', whole: true },
    { name: 'records', align: 'right', whole: true },
    { name: 'service', align: 'right', whole: true },
    { name: 'pred_contrib', align: 'right', whole: true },
    { name: 'shap', align: 'right', whole: true },
    { name: "shap's own code", align: 'right', whole: true },
  ] as const;
  const cells = rows.map((row) => [
    row.model,
    String(row.records),
    short(row.cpuMs.service.median),
    ...explainedBy
      .filter((by) => by !== 'service')
      .map((by) => `${short(row.cpuMs[by].median)} (${ratio(row, by).toFixed(1)}x)`),
  ]);
  const most = Math.max(...rows.map(({ largestDifference }) => largestDifference));
  return (
    `${renderTable(columns, cells, { width: 110 })}\n` +
    `LightGBM ${lightgbm}, XGBoost ${xgboost}, shap ${shap}, one thread each. No contribution of a field differs from shap's by ` +
    `more than ${most.toExponential(1)}.`
  );
}

const short = (ms: number): string => (ms < 10 ? ms.toFixed(2) : ms.toFixed(0));
