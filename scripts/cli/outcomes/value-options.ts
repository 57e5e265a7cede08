import { ConvertedValues, type ValueOptions, valuesOf } from '../../../shared/admin/outcomes/converted-values.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { usageError } from '../context/cli-error.js';

/** An option as it is written on the command line. */
export const optionText = (name: string): string => `--${name.replaceAll('_', '-')}`;

/** The values of the options of a command. @throws CliError when they contradict each other */
export const convertedValues = ({ wonValues, lostValues, othersLost }: ValueOptions): ConvertedValues =>
  usable(() => new ConvertedValues({ wonValues, lostValues, othersLost }, optionText));

/**
 * Reads a list of values as one line of CSV.
 * @param before values of an earlier option with the same name
 * @throws CliError for an empty list
 */
export const valueList = (text: string, before: readonly string[] = []): string[] =>
  // `runCli` parses the options of a command a second time, and commander keeps the first result.
  [...new Set([...before, ...usable(() => valuesOf(text))])];

function usable<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw error instanceof InputFault ? usageError(error.message) : error;
  }
}
