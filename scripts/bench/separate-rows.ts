import { besidePythonRowName, besidePythonSection } from './explain/beside-python.js';
import { explainRowNames, explainSection } from './explain/explain.js';
import { gradingRowName, gradingSection } from './grading/grading.js';
import type { ReportSection } from './report/tables.js';
import { type SustainedOptions, sustainedRowNames, sustainedSection } from './sustained.js';

/** Rows that need no service, or one of their own for minutes. They are measured only on request. */
export const separateRowNames: readonly string[] = [
  ...explainRowNames,
  besidePythonRowName,
  gradingRowName,
  ...sustainedRowNames,
];

/**
 * Measures separate rows.
 * @param options.only some of `separateRowNames`
 * @returns tables, or one JSON document
 */
export async function separateReport(
  options: SustainedOptions & {
    readonly only: readonly string[];
    readonly repeats: number;
    readonly json: boolean;
  },
): Promise<string> {
  const { only, json } = options;
  const document: Record<string, unknown> = {};
  const texts: string[] = [];
  const add = (key: string, { document: part, text }: ReportSection): void => {
    document[key] = part;
    texts.push(text);
  };
  const explained = only.filter((name) => explainRowNames.includes(name));
  if (explained.length > 0) add('explain', await explainSection(explained, options));
  if (only.includes(besidePythonRowName)) add('explain_beside_python', await besidePythonSection(options));
  if (only.includes(gradingRowName)) add('grading', await gradingSection(options));
  const sustained = only.filter((name) => sustainedRowNames.includes(name));
  if (sustained.length > 0) add('sustained', await sustainedSection(sustained, options));
  return json ? `${JSON.stringify(document)}\n` : `${texts.join('\n\n')}\n`;
}
