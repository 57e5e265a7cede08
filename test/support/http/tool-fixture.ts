import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { manifestFile } from '../../../shared/bundle/bundle-files.js';
import type { CategoryFeature, Manifest } from '../../../shared/bundle/manifest/manifest.js';
import { projectFile } from '../../../shared/process/project-root.js';
import { demoBundleDirectory } from '../models/golden-records.js';
import type { RawCall } from './raw-connection.js';

/** A request as a CRM or automation tool sends it; see `test/fixtures/README.md`. */
export interface ToolFixture {
  readonly what: string;
  readonly source: string;
  readonly query?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly text?: string;
  /** Additional names of model fields, by field. */
  readonly aliases?: FieldAliases;
  readonly expected: ExpectedReading | ExpectedRefusal;
}

export type FieldAliases = Readonly<Record<string, readonly string[]>>;

/** The expected reading of a request. */
export interface ExpectedReading {
  readonly crm_id: string;
  /** Stored cells by field: a sent null is stored as `[]`. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Members of the report on the fields. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly outputFields?: boolean;
}

interface ExpectedRefusal {
  readonly refused: `${number} ${string}`;
  /** A substring of the message. */
  readonly message: string;
}

/** Values for the placeholders of a fixture. */
export interface FilledIn {
  readonly modelId: string;
  readonly secret: string;
}

/** Every fixture, named `<tool>/<file>`: each tool has a folder. */
export function readToolFixtures(): readonly { readonly name: string; readonly fixture: ToolFixture }[] {
  const directory = projectFile('test/fixtures');
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.includes(sep) && file.endsWith('.json'))
    .sort()
    .map((file) => ({
      name: file.replace(/\.json$/, ''),
      fixture: JSON.parse(readFileSync(join(directory, file), 'utf8')) as ToolFixture,
    }));
}

export function callOf({ query = '', headers, body, text }: ToolFixture, filled: FilledIn): RawCall {
  const fill = (template: string): string => fillIn(template, filled);
  return {
    path: fill(`/v1/webhooks/score${query}`),
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)])),
    body: fill(text ?? JSON.stringify(body)),
  };
}

/** Replaces `{{model_id}}`, `{{api_key}}` and `{{basic}}`. */
export function fillIn(template: string, { modelId, secret }: FilledIn): string {
  return template
    .replaceAll('{{model_id}}', modelId)
    .replaceAll('{{api_key}}', secret)
    .replaceAll('{{basic}}', Buffer.from(`${secret}:`).toString('base64'));
}

/** The bundle of the demo with additional field names and category aliases. */
export async function demoBundleWith(
  aliases: FieldAliases,
  categories: readonly Pick<CategoryFeature, 'field' | 'category_aliases'>[] = [],
): Promise<ReadonlyMap<string, Buffer>> {
  const files = await readBundle(demoBundleDirectory());
  const manifest = JSON.parse(String(files.get(manifestFile))) as Manifest;
  const features = manifest.features.map((feature) => ({
    ...feature,
    aliases: [...(feature.aliases ?? []), ...(aliases[feature.field] ?? [])],
    ...categories.find(({ field }) => field === feature.field),
  }));
  return files.set(manifestFile, Buffer.from(JSON.stringify({ ...manifest, features })));
}
