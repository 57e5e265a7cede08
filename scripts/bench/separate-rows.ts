import type { OnEnd } from '../servers/run-to-end.js';
import { bulkRowName, bulkSection } from './bulk/bulk.js';
import { candidateRowName, candidateSection } from './candidates/candidate-run.js';
import { promotionRowName, promotionSection } from './candidates/promotion.js';
import { consoleRowName, consoleSection } from './console/console.js';
import { fleetRowNames, fleetSection } from './fleet/fleet.js';
import { gradingRowName, gradingSection } from './grading/grading.js';
import type { ReportSection, SectionOptions } from './report/tables.js';
import { idleRowName, idleSection } from './service/idle.js';
import { sustainedRowNames, sustainedSection } from './sustained.js';

/**
 * Rows that need no service, or one of their own for minutes, by their key in `--json`. They are measured only on
 * request.
 */
const sections: readonly {
  readonly key: string;
  readonly names: readonly string[];
  readonly measure: (names: readonly string[], options: SectionOptions) => Promise<ReportSection>;
}[] = [
  { key: 'grading', names: [gradingRowName], measure: (_, options) => gradingSection(options) },
  { key: 'console', names: [consoleRowName], measure: (_, options) => consoleSection(options) },
  { key: 'bulk', names: [bulkRowName], measure: bulkSection },
  { key: 'candidate', names: [candidateRowName], measure: candidateSection },
  { key: 'promotion', names: [promotionRowName], measure: promotionSection },
  { key: 'fleet', names: fleetRowNames, measure: fleetSection },
  { key: 'idle', names: [idleRowName], measure: idleSection },
  { key: 'sustained', names: sustainedRowNames, measure: sustainedSection },
];

export const separateRowNames: readonly string[] = sections.flatMap(({ names }) => names);

/**
 * Measures separate rows.
 * @param options.only some of `separateRowNames`
 * @returns tables, or one JSON document
 */
export async function separateReport(
  options: Omit<SectionOptions, 'say' | 'onEnd'> & { readonly only: readonly string[]; readonly json: boolean },
  onEnd: OnEnd,
): Promise<string> {
  const document: Record<string, unknown> = {};
  const texts: string[] = [];
  for (const { key, names, measure } of sections) {
    const chosen = options.only.filter((name) => names.includes(name));
    if (chosen.length === 0) continue;
    const say = (line: string) => process.stderr.write(`${line}\n`);
    const section = await measure(chosen, { ...options, say, onEnd });
    document[key] = section.document;
    texts.push(section.text);
  }
  return options.json ? `${JSON.stringify(document)}\n` : `${texts.join('\n\n')}\n`;
}
