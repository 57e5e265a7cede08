import { CsvRows } from '../../../shared/files/csv-rows.js';
import { usageError } from '../context/cli-error.js';

const yes = ['1', 'true', 'yes', 'y', 't', 'on', 'won', 'converted'];
const no = ['0', 'false', 'no', 'n', 'f', 'off', 'lost', 'open'];
const maxListed = 12;

export interface ValueOptions {
  /** Values that mean won, instead of the usual words. */
  readonly wonValues?: readonly string[] | undefined;
  /** Values that mean not won, instead of the usual words. */
  readonly lostValues?: readonly string[] | undefined;
  /** Every other value means not won, except an empty cell. */
  readonly othersLost?: boolean | undefined;
}

/** The meaning of the cells of the converted column. Case and surrounding space do not count. */
export class ConvertedValues {
  private readonly won: ReadonlySet<string>;
  private readonly lost: ReadonlySet<string>;

  /** @throws CliError when a value has both meanings, or all others would be lost without a named won value */
  constructor(private readonly options: ValueOptions = {}) {
    const { wonValues = yes, lostValues = no, othersLost } = options;
    this.won = new Set(wonValues.map(fold));
    this.lost = new Set(lostValues.map(fold));
    const both = (options.lostValues ?? []).find((value) => this.won.has(fold(value)));
    if (both !== undefined)
      throw usageError(`${JSON.stringify(both)} means won and not won. Take it out of --won-values or --lost-values`);
    if (othersLost === true && options.wonValues === undefined)
      throw usageError('--others-lost needs --won-values, or a won value with another name would count as lost');
  }

  /** Whether a cell means a conversion; undefined for a value without a meaning. */
  read(cell: string): boolean | undefined {
    // pandas writes 1.0 and 0.0 in a column with gaps.
    for (const word of [fold(cell), fold(cell).replace(/^([01])\.0+$/, '$1')]) {
      if (this.won.has(word)) return true;
      if (this.lost.has(word)) return false;
    }
    return this.options.othersLost === true && cell.trim() !== '' ? false : undefined;
  }

  /** The named won values that no cell of `seen` has. Empty without --won-values. */
  unseen(seen: readonly string[]): string[] {
    const folded = new Set(seen.map(fold));
    return (this.options.wonValues ?? []).filter((value) => !folded.has(fold(value)));
  }

  /** The rule for a cell, for messages. */
  get rule(): string {
    const won = listed(this.options.wonValues ?? yes);
    if (this.options.othersLost === true) return `must be yes (${won}) or another value`;
    const lost = listed(this.options.lostValues ?? no);
    return `must be yes (${won}) or no (${lost}), or a value of --won-values or --lost-values`;
  }

  /** Distinguishes imports with other values. Undefined without options. */
  get identity(): ValueOptions | undefined {
    const { wonValues, lostValues, othersLost } = this.options;
    return wonValues === undefined && lostValues === undefined ? undefined : { wonValues, lostValues, othersLost };
  }
}

/** The usual words, for the help. */
export const usualWords = `yes (${yes.join(', ')}) or no (${no.join(', ')})`;

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

const fold = (value: string): string => value.trim().toLowerCase();

function listed(values: readonly string[]): string {
  const more = values.length - maxListed;
  return values.slice(0, maxListed).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
