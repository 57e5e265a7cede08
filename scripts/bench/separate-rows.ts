import type { OnEnd } from '../stack/run-to-end.js';
import { besidePythonRowName, measureBesidePython } from './explain-beside.js';
import { besideDocument, besideTable } from './explain-beside-report.js';
import { explainDocument, explainRowNames, explainRowsOf, explainTable } from './explain-report.js';
import { gradingDocument, gradingRowName, gradingRows, gradingTable } from './grading-report.js';
import type { SustainedOptions } from './sustained.js';
import { sustainedDocument, sustainedRowNames, sustainedRowsOf, sustainedTable } from './sustained-report.js';

/**
 * Rows that need no service, or one of their own for minutes: they are measured when they are asked for, by themselves.
 */
export const separateRowNames: readonly string[] = [
  ...explainRowNames,
  besidePythonRowName,
  gradingRowName,
  ...sustainedRowNames,
];

/**
 * Measures rows that are measured by themselves.
 * @param names of `separateRowNames`
 * @param options `onEnd`: takes what must be undone
 * @returns tables, or one JSON document
 */
export async function separateReport(
  names: readonly string[],
  options: SustainedOptions & {
    readonly repeats: number;
    readonly json: boolean;
    readonly onEnd: OnEnd;
  },
): Promise<string> {
  const explained = await explainRowsOf(names, options);
  const beside = names.includes(besidePythonRowName) ? await measureBesidePython(options) : undefined;
  const graded = names.includes(gradingRowName) ? await gradingRows(options.say, options.onEnd) : [];
  const sustained = await sustainedRowsOf(names, options, options.onEnd);
  if (options.json) {
    const document = {
      ...(explained.length === 0 ? {} : { explain: explained.map(explainDocument) }),
      ...(beside === undefined ? {} : { explain_beside_python: besideDocument(beside) }),
      ...(graded.length === 0 ? {} : { grading: graded.map(gradingDocument) }),
      ...(sustained.length === 0 ? {} : { sustained: sustained.map(sustainedDocument) }),
    };
    return `${JSON.stringify(document)}\n`;
  }
  const tables = [
    ...(explained.length === 0 ? [] : [explainTable(explained)]),
    ...(beside === undefined ? [] : [besideTable(beside)]),
    ...(graded.length === 0 ? [] : [gradingTable(graded)]),
    ...sustained.map(sustainedTable),
  ];
  return `${tables.join('\n\n')}\n`;
}
