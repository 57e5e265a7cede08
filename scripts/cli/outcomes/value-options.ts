import { ConvertedValues, type ValueOptions } from '../../../shared/admin/outcomes/converted-values.js';
import { CsvRows } from '../../../shared/files/csv-rows.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { usageError } from '../context/cli-error.js';

/** An option as it is written on the command line. */
export const optionText = (name: string): string => `--${name.replaceAll('_', '-')}`;

/** The values of the options of a command. @throws CliError when they contradict each other */
export function convertedValues({ wonValues, lostValues, othersLost }: ValueOptions): ConvertedValues {
  try {
    return new ConvertedValues({ wonValues, lostValues, othersLost }, optionText);
  } catch (error) {
    throw error instanceof InputFault ? usageError(error.message) : error;
  }
}

/**
 * Reads a list of values as one line of CSV, so that a quoted value may contain a comma.
 * @param before values of an earlier option with the same name
 */
export function valueList(text: string, before: readonly string[] = []): string[] {
  const row = new CsvRows(text, { delimiter: ',', maxCells: 1_000, firstLine: 1 });
  row.next();
  const values = row.cells.map((value) => value.trim()).filter((value) => value !== '');
  if (values.length === 0) throw usageError('A list of values is empty. Write them as "Closed Won,Won"');
  // `runCli` parses the options of a command a second time, and commander keeps the first result.
  return [...new Set([...before, ...values])];
}
