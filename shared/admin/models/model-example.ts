import { randomInt } from 'node:crypto';
import { decodeUtf8, goldenFile } from '../../bundle/bundle-files.js';
import { bundleStorage, goldenFileOf } from '../../store/models/model-versions.js';
import { defineAction } from '../action.js';
import { exampleOutput, modelInput } from '../schemas/models.js';
import { requireModel } from './read-models.js';

const newline = 10;
/** Newline, carriage return, space and tab. */
const blanks: ReadonlySet<number> = new Set([newline, 13, 32, 9]);
/** A longer record is no help in a form. */
const maxLineBytes = 64 * 1024;

/** Gives a person without data a record to try. */
export const showExample = defineAction({
  name: 'model.example',
  description: "Read one golden record of a model's current version, drawn at random.",
  role: 'admin',
  effect: 'read',
  input: modelInput,
  output: exampleOutput,
  async run({ database }, input) {
    const model = await requireModel({ database }, input);
    const file = await goldenFileOf(database, model._id, model.version);
    const bytes = file && (await bundleStorage(database).download(file));
    return { record: (bytes && recordAt(bytes, randomInt(bytes.length + 1))) ?? null };
  },
});

/**
 * The record of the line of `golden.jsonl` that holds a byte: the file may have megabytes, and is not parsed whole. For
 * a blank line it is the record before it, or the last of the file. The values that a form cannot show, and the id of
 * the lead, are left out.
 */
export function recordAt(golden: Buffer, at: number): Record<string, FormValue> | undefined {
  const lineEnd = golden.indexOf(newline, at);
  const end = textEnd(golden, lineEnd === -1 ? golden.length : lineEnd) || textEnd(golden, golden.length);
  const start = golden.subarray(0, end).lastIndexOf(newline) + 1;
  if (end === 0 || end - start > maxLineBytes) return undefined;
  const line = decodeUtf8(golden.subarray(start, end), goldenFile);
  // Other blanks of Unicode.
  if (line.trim() === '') return undefined;
  const { record } = JSON.parse(line) as { record: Readonly<Record<string, unknown>> };
  return Object.fromEntries(
    Object.entries(record).filter(
      (entry): entry is [string, FormValue] => entry[0] !== 'crm_id' && isFormValue(entry[1]),
    ),
  );
}

/** The end of the last text before a byte; 0 where only blank lines come before it. */
function textEnd(golden: Buffer, before: number): number {
  let end = before;
  while (end > 0 && blanks.has(golden[end - 1] ?? 0)) end -= 1;
  return end;
}

type FormValue = string | number | boolean | readonly unknown[];

const isFormValue = (value: unknown): value is FormValue =>
  ['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value);
