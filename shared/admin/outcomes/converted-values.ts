import { CsvRows } from '../../files/csv-rows.js';
import { InputFault } from '../../files/reading/input-fault.js';

const yes = ['1', 'true', 'yes', 'y', 't', 'on', 'won', 'converted'];
const no = ['0', 'false', 'no', 'n', 'f', 'off', 'lost', 'open'];
const maxListed = 12;

const fold = (value: string): string => value.trim().toLowerCase();
/** The same for all forms of a value. pandas writes 1.0 and 0.0 in a column with gaps. */
export const valueKey = (value: string): string => fold(value).replace(/^([01])\.0+$/, '$1');

export interface ValueOptions {
  /** Values that mean won, instead of the usual words. */
  readonly wonValues?: readonly string[] | undefined;
  /** Values that mean not won, instead of the usual words. */
  readonly lostValues?: readonly string[] | undefined;
  /** Every other value means not won, except an empty one. */
  readonly othersLost?: boolean | undefined;
  /** Values whose rows are passed over. */
  readonly ignoredValues?: readonly string[] | undefined;
}

type OptionName = 'won_values' | 'lost_values' | 'others_lost' | 'ignored_values';

/** The meaning of the values of an outcome. Case and surrounding space do not count. */
export class ConvertedValues {
  private readonly won: ReadonlySet<string>;
  private readonly lost: ReadonlySet<string>;
  private readonly ignored: ReadonlySet<string>;

  /**
   * @param shown how messages write the name of an option
   * @throws InputFault when a value has both meanings, or all others would be lost without a named won value
   */
  constructor(
    private readonly options: ValueOptions = {},
    private readonly shown: (name: OptionName) => string = (name) => name,
  ) {
    const { wonValues = yes, lostValues = no, othersLost, ignoredValues = [] } = options;
    this.won = new Set(wonValues.map(fold));
    this.lost = new Set(lostValues.map(fold));
    this.ignored = new Set(ignoredValues.map(fold));
    const marked = [...(options.wonValues ?? []), ...(options.lostValues ?? [])].find((value) => this.ignores(value));
    if (marked !== undefined)
      throw new InputFault(
        `${JSON.stringify(marked)} has a meaning and is passed over. Take it out of ${shown('ignored_values')} or the other list`,
      );
    const both = (options.lostValues ?? []).find((value) => this.won.has(fold(value)));
    if (both !== undefined)
      throw new InputFault(
        `${JSON.stringify(both)} means won and not won. Take it out of ${shown('won_values')} or ${shown('lost_values')}`,
      );
    if (othersLost === true && options.wonValues === undefined)
      throw new InputFault(
        `${shown('others_lost')} needs ${shown('won_values')}, or a won value with another name would count as lost`,
      );
  }

  /** Whether a value means a conversion; undefined for a value without a meaning. */
  read(value: string): boolean | undefined {
    for (const word of [fold(value), valueKey(value)]) {
      if (this.won.has(word)) return true;
      if (this.lost.has(word)) return false;
    }
    return this.options.othersLost === true && value.trim() !== '' ? false : undefined;
  }

  /** Whether the rows of a value are passed over. */
  ignores(value: string): boolean {
    return this.ignored.size > 0 && (this.ignored.has(fold(value)) || this.ignored.has(valueKey(value)));
  }

  /** The named won values that no value of `seen` is. Empty without named ones. */
  unseen(seen: readonly string[]): string[] {
    const folded = new Set(seen.map(fold));
    return (this.options.wonValues ?? []).filter((value) => !folded.has(fold(value)));
  }

  /** The rule for a value, for messages. */
  get rule(): string {
    const won = listed(this.options.wonValues ?? yes);
    if (this.options.othersLost === true) return `must be yes (${won}) or another value`;
    const lost = listed(this.options.lostValues ?? no);
    const named = `${this.shown('won_values')} or ${this.shown('lost_values')}`;
    return `must be yes (${won}) or no (${lost}), or a value of ${named}`;
  }

  /** The name of the option with won values, for messages. */
  get wonName(): string {
    return this.shown('won_values');
  }
}

const usual = new ConvertedValues();

/**
 * The meaning of an outcome that a CRM sends: a value of the organisation's settings, else a usual word. The usual
 * words stay, because a workflow may send `won` itself.
 */
export function meaningOf(
  value: string,
  { won_values: wonValues = [], lost_values: lostValues = [] }: OutcomeWords,
): boolean | undefined {
  return new ConvertedValues({ wonValues, lostValues }).read(value) ?? usual.read(value);
}

/** The values of an organisation's settings. */
export interface OutcomeWords {
  readonly won_values?: readonly string[];
  readonly lost_values?: readonly string[];
}

/**
 * Reads a list of values as one line of CSV, so that a quoted value may contain a comma.
 * @throws InputFault for an empty list
 */
export function valuesOf(text: string): string[] {
  const row = new CsvRows(text, { delimiter: ',', maxCells: 1_000, firstLine: 1 });
  row.next();
  const values = row.cells.map((value) => value.trim()).filter((value) => value !== '');
  if (values.length === 0) throw new InputFault('A list of values is empty. Write them as "Closed Won,Won"');
  return [...new Set(values)];
}

/** The usual words, for the help. */
export const usualWords = `yes (${yes.join(', ')}) or no (${no.join(', ')})`;

function listed(values: readonly string[]): string {
  const more = values.length - maxListed;
  return values.slice(0, maxListed).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
