import { randomInt } from 'node:crypto';
import { bundleStorage, goldenFileOf } from '../../store/models/model-versions.js';
import { defineAction } from '../action.js';
import { exampleOutput, modelInput } from '../schemas/models.js';
import { requireModel } from './read-models.js';

const newline = 10;
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
 * The record of the line of `golden.jsonl` that holds a byte: the file may have megabytes, and is not parsed whole. The
 * values that a form cannot show are left out, and the id of the lead.
 */
export function recordAt(golden: Buffer, at: number): Record<string, FormValue> | undefined {
  // Files end with a newline. The text after the last one is no line.
  const end = golden.indexOf(newline, at) === -1 ? golden.length : golden.indexOf(newline, at);
  const start = golden.lastIndexOf(newline, end - 1) + 1;
  const line = golden.subarray(start, end).toString();
  if (line.trim() === '' && start > 0) return recordAt(golden.subarray(0, start - 1), start - 1);
  if (line.trim() === '' || end - start > maxLineBytes) return undefined;
  const { record } = JSON.parse(line) as { record: Readonly<Record<string, unknown>> };
  return Object.fromEntries(
    Object.entries(record).filter(
      (entry): entry is [string, FormValue] => entry[0] !== 'crm_id' && isFormValue(entry[1]),
    ),
  );
}

type FormValue = string | number | boolean | readonly unknown[];

const isFormValue = (value: unknown): value is FormValue =>
  ['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value);
