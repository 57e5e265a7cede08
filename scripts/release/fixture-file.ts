import { readFile, writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import { extract, pack } from 'tar-stream';

/** A collection: its options and indexes as MongoDB reports them, and its documents as canonical Extended JSON. */
export interface StoredCollection {
  readonly name: string;
  readonly options: string;
  readonly indexes: string;
  readonly documents: readonly string[];
}

/** A key of Redis. Name and value are base64. */
export interface StoredKey {
  readonly name: string;
  /** The reply of DUMP. */
  readonly value: string;
  /** The time left when it was read; 0 for a key that does not expire. */
  readonly ttlMs: number;
}

/** A call, and the answer of the release that wrote the data. */
export interface RecordedAnswer {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The name of an API key in `AboutFixture`. */
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body?: string;
  readonly status: number;
  readonly text: string;
}

export interface AboutFixture {
  readonly release: string;
  readonly redis: string;
  readonly mongod: string;
  /** When the data was written. The answers hold for a service whose clock shows this time. */
  readonly writtenAt: string;
  /** `KEY_PEPPER` of its keys. */
  readonly pepper: string;
  /** The secrets of API keys by name. */
  readonly keys: Readonly<Record<string, string>>;
  readonly organisationId: string;
  readonly modelIds: readonly string[];
  /** crm_ids of erased leads. */
  readonly erased: readonly string[];
}

/** All that an installation of one release has stored, its Lua scripts, and its answers to some calls. */
export interface ReleaseFixture {
  readonly about: AboutFixture;
  readonly collections: readonly StoredCollection[];
  readonly keys: readonly StoredKey[];
  /** The texts of the scripts by path. */
  readonly scripts: Readonly<Record<string, string>>;
  /** In the order of the calls. Some change data, so all must be sent, in this order. */
  readonly answers: readonly RecordedAnswer[];
}

const compress = promisify(gzip);
const inflate = promisify(gunzip);
const lines = (items: readonly string[]): string => items.map((item) => `${item}\n`).join('');
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** Writes a fixture as a gzipped tar archive. @returns its bytes */
export async function writeFixture(path: string, fixture: ReleaseFixture): Promise<number> {
  const { about, collections, keys, scripts, answers } = fixture;
  const archive = pack();
  const add = (name: string, text: string) => archive.entry({ name, mtime: new Date(about.writtenAt) }, text);
  add('about.json', `${JSON.stringify(about, undefined, 2)}\n`);
  for (const { name, options, indexes, documents } of collections)
    add(`mongo/${name}.jsonl`, lines([options, indexes, ...documents]));
  add('redis.jsonl', lines(keys.map((key) => JSON.stringify(key))));
  for (const [name, text] of Object.entries(scripts)) add(`scripts/${name}`, text);
  add('answers.jsonl', lines(answers.map((answer) => JSON.stringify(answer))));
  archive.finalize();
  const bytes = await compress(await buffer(archive), { level: constants.Z_BEST_COMPRESSION });
  await writeFile(path, bytes);
  return bytes.length;
}

/**
 * Reads a fixture that `writeFixture` wrote.
 * @throws Error of the file system, or if the file is no such archive
 */
export async function readFixture(path: string): Promise<ReleaseFixture> {
  const archive = extract();
  archive.end(await inflate(await readFile(path)));
  const members = new Map<string, string>();
  for await (const entry of archive) members.set(entry.header.name, String(await buffer(entry)));
  const member = (name: string): string => {
    const text = members.get(name);
    if (text === undefined) throw new Error(`${path} is no fixture of a release: it has no ${name}`);
    return text;
  };
  const inFolder = (folder: string): [string, string][] =>
    [...members].flatMap(([name, text]) => (name.startsWith(folder) ? [[name.slice(folder.length), text]] : []));
  return {
    about: JSON.parse(member('about.json')),
    collections: inFolder('mongo/').map(([name, text]) => {
      const [options = '{}', indexes = '[]', ...documents] = linesOf(text);
      return { name: name.replace(/\.jsonl$/, ''), options, indexes, documents };
    }),
    keys: linesOf(member('redis.jsonl')).map((line) => JSON.parse(line)),
    scripts: Object.fromEntries(inFolder('scripts/')),
    answers: linesOf(member('answers.jsonl')).map((line) => JSON.parse(line)),
  };
}
