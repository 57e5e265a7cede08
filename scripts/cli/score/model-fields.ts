import type { Feature, Recency } from '../../../shared/bundle/manifest.js';
import { compileKnownFields, type KnownFields } from '../../../shared/known-fields.js';
import { member, parse } from './api-reply.js';
import type { HttpGet } from './http-connections.js';

/** Which model, and how to ask for it. */
export interface ModelQuestion {
  /** Where the service is, without `/v1`. */
  readonly baseUrl: string;
  readonly modelId: string;
  readonly apiKey: string;
  readonly get: HttpGet;
  readonly signal: AbortSignal;
  /** For the answer. A run is not held up for longer by a question that it can do without. */
  readonly limitMs?: number;
}

/**
 * Asks `GET /v1/models/{model_id}`, once, which fields the model knows. Names are then matched by the service's own code.
 * @returns undefined when that cannot be read (an older service, a wrong key, no answer): scoring says what is wrong, or
 *   works all the same
 */
export async function readModelFields(question: ModelQuestion): Promise<KnownFields | undefined> {
  const { baseUrl, modelId, apiKey, get, limitMs = 5_000 } = question;
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}/v1/models/${encodeURIComponent(modelId)}`);
  const signal = AbortSignal.any([question.signal, AbortSignal.timeout(limitMs)]);
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
    // The type says how values are read, which is not done here.
    features.push({
      type: 'number',
      field,
      label: field,
      columns: [],
      aliases: textsOf(member(each, 'aliases')),
    });
  }
  const recency = recencyOf(member(member(model, 'recency'), 'field'));
  return compileKnownFields({ features, ...(recency === undefined ? {} : { recency }) });
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];

const recencyOf = (field: unknown): Recency | undefined =>
  typeof field === 'string' ? { field, max_age_days: 1 } : undefined;
