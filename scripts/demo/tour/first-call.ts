import type { LeadRecord } from '../lead-record.js';
import { filledLines } from './wrapped-text.js';

/** A call that a reader can paste into a shell, and what it sends. */
export interface FirstCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON in lines of 80 columns at most. */
  readonly body: string;
  /** The same call for a POSIX shell. */
  readonly curl: string;
}

export interface FirstCallParts {
  /** Where the service is, without `/v1`. */
  readonly url: string;
  readonly apiKey: string;
  readonly modelId: string;
  readonly record: LeadRecord;
}

/** Writes the call that scores one record and asks for the reasons. Fields that are null are left out. */
export function firstCall({ url, apiKey, modelId, record }: FirstCallParts): FirstCall {
  const fields = Object.entries(record).filter(([, value]) => value !== null);
  const members = fields.map(
    ([name, value], index) =>
      `${JSON.stringify(name)}: ${JSON.stringify(value)}${index === fields.length - 1 ? '' : ','}`,
  );
  const head = `{"model_id": ${JSON.stringify(modelId)}, "explain": true, "records": [{`;
  const recordLines = filledLines(members, { width: 78, joint: ' ' })
    .map((line) => `  ${line}`)
    .join('\n');
  const body = `${head}\n${recordLines}\n}]}`;
  const scoreUrl = `${url}/v1/score`;
  const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
  const curl = [
    `curl -s ${scoreUrl}`,
    ...Object.entries(headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    `  -d ${quoted(body)}`,
  ].join(' \\\n');
  return { url: scoreUrl, headers, body, curl };
}

/** Within single quotes a shell changes nothing; a single quote itself stands between them, escaped. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
