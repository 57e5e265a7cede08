import type { Feature, Recency } from '../../../../shared/bundle/manifest/manifest.js';
import { FieldMatch, type FieldReport } from '../../../../shared/files/field-match.js';
import {
  type NameKind,
  nameNotices,
  unknownNames,
  withoutCrmId,
} from '../../../../shared/files/notices/header-notices.js';
import { shownName } from '../../../../shared/files/reading/csv-columns.js';
import { compileKnownFields, type KnownFields } from '../../../../shared/messages/field-slots.js';
import { member, parse } from '../calls/api-reply.js';
import type { HttpGet } from '../calls/http-connections.js';
import type { RecordFormat } from './input-file.js';

/** Compares the field names of the input with the model: the header of a CSV, or the keys of all JSONL records. */
export class InputNames {
  private readonly match: FieldMatch | undefined;
  private hasCrmId = false;
  /** The columns of a CSV. */
  private header: readonly string[] = [];

  /** @param fields undefined when the model's fields are unknown: then no notice mentions fields */
  constructor(
    private readonly format: RecordFormat,
    private readonly fields: KnownFields | undefined,
  ) {
    this.match = fields === undefined ? undefined : new FieldMatch(fields);
  }

  add(names: readonly string[]): void {
    this.hasCrmId ||= names.includes('crm_id');
    if (this.format === 'csv') this.header = names;
    for (const name of names) this.match?.add(name);
  }

  /** Problems of a CSV header for which the user may want to stop. Empty for JSONL, whose keys are not yet known. */
  notices(): string[] {
    if (this.format !== 'csv') return [];
    const { header: names, hasCrmId: hasIds, fields } = this;
    return nameNotices(this.match?.report(), { names, hasIds, kind: 'column', fields, option: idOption });
  }

  /**
   * @param allRead whether the file was read to its end
   * @returns undefined when the model's fields are unknown, or when JSONL was not read to its end
   */
  report(allRead: boolean): FieldReport | undefined {
    return allRead || this.format === 'csv' ? this.match?.report() : undefined;
  }
}

const idOption = (name: string): string => `--crm-id ${shownName(name)}`;

const kindOf = (format: RecordFormat): NameKind => (format === 'csv' ? 'column' : 'key');

/** Names the columns or keys that the model does not know; undefined when it knows all. */
export const unknownOf = (report: FieldReport, format: RecordFormat, fields?: KnownFields): string | undefined =>
  unknownNames(report, kindOf(format), fields);

/** The consequence of a missing crm_id, and the remedy. */
export const withoutId = (format: RecordFormat, names?: readonly string[]): string =>
  withoutCrmId(kindOf(format), idOption, names);

export interface ModelRequest {
  /** Address of the service, without `/v1`. */
  readonly baseUrl: string;
  readonly modelId: string;
  readonly apiKey: string;
  readonly get: HttpGet;
  readonly signal: AbortSignal;
  /** Default 5 s: scoring works without the reply, so it must not delay the run for longer. */
  readonly timeoutMs?: number;
}

/**
 * Reads the model's fields from `GET /v1/models/{model_id}`, without retries.
 * @returns undefined on any failure (older service, wrong key, timeout): if it matters, the first scoring call fails
 * too
 */
export async function readModelFields(request: ModelRequest): Promise<KnownFields | undefined> {
  const { baseUrl, modelId, apiKey, get, timeoutMs = 5_000 } = request;
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/v1/models/${encodeURIComponent(modelId)}`);
  const signal = AbortSignal.any([request.signal, AbortSignal.timeout(timeoutMs)]);
  const headers = { authorization: `Bearer ${apiKey}`, accept: 'application/json' };
  try {
    const { status, body } = await get(url, { headers, signal });
    return status === 200 ? fieldsOf(parse(body)) : undefined;
  } catch {
    return undefined;
  }
}

function fieldsOf(model: unknown): KnownFields | undefined {
  const fields = member(model, 'fields');
  if (!Array.isArray(fields) || fields.length === 0) return undefined;
  const features: Feature[] = [];
  for (const each of fields) {
    const field = member(each, 'field');
    if (typeof field !== 'string') return undefined;
    features.push(featureOf(field, each));
  }
  const recency = recencyOf(member(member(model, 'recency'), 'field'));
  return compileKnownFields({ features, ...(recency === undefined ? {} : { recency }) });
}

/** A feature with what the reading of a file takes of it: names, categories, and whether it is a number. */
function featureOf(field: string, told: unknown): Feature {
  const common = { field, label: field, columns: [], aliases: textsOf(member(told, 'aliases')) };
  const categories = textsOf(member(told, 'categories'));
  if (categories.length > 0) return { ...common, type: 'category', encoding: 'onehot', categories };
  return { ...common, type: member(told, 'type') === 'number' ? 'number' : 'boolean' };
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];

const recencyOf = (field: unknown): Recency | undefined =>
  typeof field === 'string' ? { field, max_age_days: 1 } : undefined;
