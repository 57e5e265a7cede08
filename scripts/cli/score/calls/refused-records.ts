import { isCrmId, isLongerThan, maxCrmId } from '../../../../shared/contract/texts.js';
import { type ApiFailure, member, parse } from './api-reply.js';

/** A record that a refusal names. */
export interface RefusedRecord {
  /** Index of the record in its call. */
  readonly index: number;
  /** As the service writes it, without quotes; undefined when the problem is the whole record. */
  readonly field: string | undefined;
  /** With the field: `company_size: expected a number, came an object`. */
  readonly reason: string;
}

export interface RecordRefusal {
  /** The first problem of each named record. */
  readonly named: readonly RefusedRecord[];
  /**
   * Number of records with a problem, if the message shows that all problems are of one kind and each is of another
   * record. It names only the first.
   */
  readonly alikeRecords: number | undefined;
}

/** Matches `records[17]` and an optional field: `.annual_revenue` or `["Annual Revenue"]`. */
export const recordPath = /records\[(\d+)\](?:\.([A-Za-z_$][\w$]*)|\[("(?:[^"\\]|\\.)*")\])?/;

const itemStart = /(?:^|; )(?=records\[\d+\])/g;
const itemsEnd = /; and (\d+) more\.|\. GET \/v1\/|\. Nothing of the call|\.$/;

/**
 * Reads which records a refusal names.
 * @param records number of records of the call
 * @returns undefined for a refusal that is not about single records
 */
export function refusedRecords({ code, status, message }: ApiFailure, records: number): RecordRefusal | undefined {
  if (code !== 'bad_request' || (status !== 400 && status !== 422)) return undefined;
  // Field names may contain anything. Positions are those of the message itself.
  const masked = message.replace(/"(?:[^"\\]|\\.)*"/g, (quoted) => `"${'_'.repeat(quoted.length - 2)}"`);
  const starts = [...masked.matchAll(itemStart)].map(({ index, 0: before }) => index + before.length);
  if (starts[0] !== 0) return undefined;
  const end = itemsEnd.exec(masked);
  const first = new Map<number, RefusedRecord>();
  for (const [item, start] of starts.entries()) {
    const next = starts[item + 1];
    const text = message.slice(start, next === undefined ? (end?.index ?? message.length) : next - 2);
    const record = refusedRecord(text);
    if (record === undefined || record.index >= records) return undefined;
    if (!first.has(record.index)) first.set(record.index, record);
  }
  const named = [...first.values()];
  const areAlike = named.length === starts.length && named.every(({ reason }) => reason === named[0]?.reason);
  return { named, alikeRecords: areAlike ? starts.length + Number(end?.[1] ?? 0) : undefined };
}

function refusedRecord(text: string): RefusedRecord | undefined {
  const path = recordPath.exec(text);
  if (path?.index !== 0) return undefined;
  const [whole, index, name, quoted] = path;
  const field = quoted === undefined ? name : String(parse(quoted));
  // The list of the names that were sent is for a call without the file at hand.
  const problem = text
    .slice(whole.length)
    .replace(/^:? /, '')
    .replace(/ \(it (?:has|is empty).*\)$/s, '');
  return { index: Number(index), field, reason: field === undefined ? problem : `${field}: ${problem}` };
}

type Fields = Readonly<Record<string, unknown>>;

/** Records of a call, divided by what the service has refused before. */
export interface Division {
  /** Indexes of records that resemble no refused one. */
  readonly sound: readonly number[];
  /** Indexes of records that resemble refused ones. They get a call of their own. */
  readonly alike: readonly number[];
  /** Indexes of records whose crm_id the service refuses, with the reason. */
  readonly badIds: ReadonlyMap<number, string>;
}

const maxRemembered = 10_000; // bounds memory: JSONL keys may be data

/**
 * Remembers what the service has refused, to find similar records: a refusal names only five. The service decides on
 * each of them nevertheless, except for a crm_id: its rules are a part of the API.
 */
export class RefusalMemory {
  /** Keys of records in which the service knew no field. */
  private readonly unknownKeys = new Set<string>();
  /** Key and kind of a refused list or object. */
  private readonly refusedKinds = new Set<string>();
  private hasBadIds = false;
  private hasUnknown = false;

  /** Adds a refused record. @param text as sent */
  add({ field, reason }: RefusedRecord, text: string): void {
    const fields = fieldsOf(text);
    if (field === 'crm_id') this.hasBadIds = true;
    if (field === undefined && reason.startsWith(nothingKnown)) {
      this.hasUnknown = true;
      for (const key of Object.keys(fields)) if (this.unknownKeys.size < maxRemembered) this.unknownKeys.add(key);
    }
    const kind = field === undefined ? undefined : kindOf(fields[field]);
    if (kind !== undefined && this.refusedKinds.size < maxRemembered) this.refusedKinds.add(`${kind} ${field}`);
  }

  /** @param texts the records as sent */
  divide(texts: readonly string[]): Division {
    const badIds = new Map<number, string>();
    if (!this.hasBadIds && !this.hasUnknown && this.refusedKinds.size === 0)
      return { sound: [...texts.keys()], alike: [], badIds };
    const sound: number[] = [];
    const alike: number[] = [];
    for (const [index, text] of texts.entries()) {
      const fields = fieldsOf(text);
      const badId = this.hasBadIds ? badIdReason(fields.crm_id) : undefined;
      if (badId !== undefined) badIds.set(index, badId);
      else (this.isAlike(fields) ? alike : sound).push(index);
    }
    return { sound, alike, badIds };
  }

  private isAlike(fields: Fields): boolean {
    const entries = Object.entries(fields);
    if (this.hasUnknown && entries.every(([key]) => key === 'crm_id' || this.unknownKeys.has(key))) return true;
    if (this.refusedKinds.size === 0) return false;
    return entries.some(([key, value]) => this.refusedKinds.has(`${kindOf(value)} ${key}`));
  }
}

const nothingKnown = 'expected at least one field';

const fieldsOf = (text: string): Fields => {
  const value = parse(text);
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
};

/** The crm_id of a record as it is sent; undefined without one. */
export function crmIdOf(text: string): string | undefined {
  if (!text.includes('"crm_id"')) return undefined;
  const id = member(parse(text), 'crm_id');
  return typeof id === 'string' && id !== '' ? id : undefined;
}

const kindOf = (value: unknown): 'list' | 'object' | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  return Array.isArray(value) ? 'list' : 'object';
};

function badIdReason(id: unknown): string | undefined {
  if (id === undefined || Number.isSafeInteger(id)) return undefined;
  if (typeof id !== 'string') return 'crm_id: must be of type string or integer';
  if (isCrmId(id)) return undefined;
  return isLongerThan(id, maxCrmId)
    ? `crm_id: must have at most ${maxCrmId} characters`
    : 'crm_id: contains a character that is not allowed (NUL or half of a surrogate pair)';
}
