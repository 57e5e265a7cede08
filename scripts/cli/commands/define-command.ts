import { type Command, InvalidArgumentError } from 'commander';
import { expiryOf } from '../../../shared/contract/dates.js';
import { orderedScopes, type Scope, scopes } from '../../../shared/contract/roles.js';

/** Help of a command. */
export interface CommandHelp {
  /** Name and arguments, such as `show <org>`. */
  readonly usage: string;
  readonly description: string;
  /** Command lines without `npx leadscore`. */
  readonly examples: readonly [string, ...string[]];
  /** Paragraphs between the options and the examples. */
  readonly notes?: string;
}

/** Adds a command with `--json` and examples in its help. The caller adds options and the action. */
export function defineCommand(parent: Command, { usage, description, examples, notes }: CommandHelp): Command {
  const lines = examples.map((example) => `  npx leadscore ${example}`).join('\n');
  return parent
    .command(usage)
    .description(description)
    .option('--json', 'print one JSON document and no other output')
    .addHelpText('after', `${notes === undefined ? '' : `\n${notes}\n`}\nExample:\n${lines}`);
}

/** Options of a command that has only `--json`. */
export interface JsonOption {
  readonly json?: boolean;
}

// The following functions parse option values for commander. They throw InvalidArgumentError (exit code 2).

interface Bounds {
  readonly min: number;
  readonly max: number;
}

export const wholeNumber =
  (bounds: Bounds) =>
  (text: string): number => {
    if (isWithin(text, bounds)) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${bounds.min} to ${bounds.max}.`);
  };

/** A list of scopes, such as `score,outcomes`, or the word `all`. */
export function scopeList(text: string): Scope[] | 'all' {
  if (text === 'all') return text;
  const named = [...new Set(text.split(',').map((each) => each.trim()))];
  const unknown = named.find((name) => !scopes.some((scope) => scope === name));
  if (unknown !== undefined)
    throw new InvalidArgumentError(`"${unknown}" is no scope. Name some of ${scopes.join(', ')}, with commas, or all.`);
  return orderedScopes(named);
}

/** A whole number, or the word `plan`. */
export const recordsOrPlan =
  (bounds: Bounds) =>
  (text: string): number | 'plan' => {
    if (text === 'plan') return text;
    if (isWithin(text, bounds)) return Number(text);
    throw new InvalidArgumentError(`It must be a whole number from ${bounds.min} to ${bounds.max}, or plan.`);
  };

const isWithin = (text: string, { min, max }: Bounds): boolean =>
  /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max;

/** `on` is true, `off` is false. */
export function onOrOff(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new InvalidArgumentError('It must be on or off.');
}

/** An ISO 8601 date (midnight UTC), or a date and time with a time zone. */
export function isoDate(text: string): Date {
  const form = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2}))?$/;
  const date = new Date(text);
  if (form.test(text) && !Number.isNaN(date.getTime()) && isCalendarDay(text.slice(0, 10))) return date;
  throw new InvalidArgumentError('It must be an ISO 8601 date such as 2026-12-31 or 2026-12-31T12:00:00Z.');
}

/** A date of expiry as it was written, or the word `never`. */
export function expiryDate(text: string): string {
  if (text === 'never' || expiryOf(text) !== undefined) return text;
  throw new InvalidArgumentError('It must be a date such as 2027-06-30 or 2027-06-30T12:00:00Z, or never.');
}

/** A day of the calendar in the form `YYYY-MM-DD`. */
export function calendarDay(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && isCalendarDay(text)) return text;
  throw new InvalidArgumentError('It must be a day such as 2026-12-31.');
}

/** A month in the form `YYYY-MM`. */
export function yearAndMonth(text: string): string {
  if (/^\d{4}-(0[1-9]|1[0-2])$/.test(text)) return text;
  throw new InvalidArgumentError('It must be a month such as 2026-12.');
}

/** Trimmed text of 1 to 200 characters. */
export function nonBlank(text: string): string {
  if (text.trim() !== '' && text.length <= 200) return text.trim();
  throw new InvalidArgumentError('It must be 1 to 200 characters.');
}

/** `nonBlank` without control characters, because the text is printed on other users' terminals. */
export function plainText(text: string): string {
  if (!/\p{Cc}/u.test(text.trim())) return nonBlank(text);
  throw new InvalidArgumentError('It must be one line without control characters.');
}

const isCalendarDay = (day: string): boolean => new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) === day;
