import { createHash } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync, constants as zlib } from 'node:zlib';
import { expect } from 'chai';
import { createKey } from '../../../shared/admin/organisations/key-actions.js';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import type { Job } from '../../../shared/store/jobs/job-documents.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { callCli } from '../../scripts/cli/cli-call.js';
import { eventually } from '../eventually.js';
import type { Caller, ConsoleReply, ConsoleService } from './console-service.js';
import { pieceHeaders } from './job-routes.js';

const maxJobMs = 120_000;
/** As the console's page reads them. */
const headBytes = 96 * 1024;
const gzipMark = Buffer.from([0x1f, 0x8b]);
const rows = ['rows', 'scored', 'failed', 'empty'] as const;
const ended: readonly string[] = ['completed', 'failed', 'canceled', 'paused'] satisfies readonly Job['state'][];

/** A file that a person or a program brings. */
export interface BroughtFile {
  readonly name: string;
  readonly bytes: Buffer;
  readonly crmId?: string | undefined;
  readonly strict?: boolean | undefined;
}

export type FileFormat = 'csv' | 'jsonl';

/** A job of a file after its end, without what differs from job to job. */
export interface EndedJob {
  readonly state: unknown;
  readonly error: { readonly message: string; readonly line?: number; readonly column?: number } | undefined;
  readonly progress: Readonly<Record<string, unknown>>;
  readonly notices: unknown;
  readonly summary: unknown;
  readonly results: string | undefined;
  readonly errors: string | undefined;
}

/** An organisation for each of console and API, with the same model: no way sees the leads of another one. */
export class JobWays {
  private constructor(
    private readonly service: ConsoleService,
    private readonly gatewayUrl: string,
    private readonly directory: string,
    private readonly console: Owner & { readonly admin: Caller & { readonly cookie: string } },
    private readonly api: Owner & { readonly live: string; readonly test: string },
  ) {}

  static async open(
    service: ConsoleService,
    {
      gatewayUrl,
      directory,
      bundle,
    }: { readonly gatewayUrl: string; readonly directory: string; readonly bundle: ReadonlyMap<string, Buffer> },
  ): Promise<JobWays> {
    const owner = async (): Promise<Owner> => {
      const organisationId = await service.newOrganisation();
      const made = { organisationId, bundle: checkBundle(bundle), now: new Date() };
      return { organisationId, modelId: (await createModel(service.database, made))._id };
    };
    const [console, api] = [await owner(), await owner()];
    const admin = await service.signIn('admin', console.organisationId);
    const key = async (kind: 'live' | 'test') =>
      (await service.act(createKey, { org_id: api.organisationId, kind, rate_per_second: 10_000 })).secret;
    const keys = { live: await key('live'), test: await key('test') };
    return new JobWays(service, gatewayUrl, directory, { ...console, admin }, { ...api, ...keys });
  }

  /** As the page New job: the preview, the job that it suggests, and its bytes by tus. */
  async byConsole({ name, bytes, crmId, strict }: BroughtFile): Promise<EndedJob & { readonly preview: Preview }> {
    const { admin, modelId } = this.console;
    const base = `/admin/v1/orgs/${this.console.organisationId}`;
    const idColumn = crmId === undefined ? {} : { crm_id_field: crmId };
    const fingerprint = createHash('sha256').update(name).update(bytes).digest('hex');
    const about = { model_id: modelId, fingerprint, ...idColumn };
    const preview = (await done(admin('POST', `${base}/files/preview`, { body: { ...about, ...headOf(bytes) } })))
      .body as unknown as Preview;
    const options = { previous: false, strict: strict === true };
    const body = { ...about, format: preview.format, name, bytes: bytes.length, ...options };
    const path = `${base}/jobs/${String((await done(admin('POST', `${base}/jobs`, { body }))).body.job_id)}`;
    const piece = { body: new Uint8Array(bytes), headers: pieceHeaders(0, bytes.length) };
    await done(admin('PATCH', `${path}/input`, piece));
    const job = await atEnd(async () => (await done(admin('GET', path))).body);
    const headers = { cookie: admin.cookie, 'sec-fetch-site': 'same-origin' };
    return { preview, ...(await endedJob(job, `${this.service.url}${path}`, headers)) };
  }

  /** As a program with a key. */
  async byApi({ name, bytes, crmId, strict }: BroughtFile, format: FileFormat): Promise<EndedJob> {
    const authorization = `Bearer ${this.api.live}`;
    const call = async (path: string, method = 'GET', body?: string | Uint8Array<ArrayBuffer>) => {
      const headers = { authorization, 'content-type': 'application/json' };
      const own = method === 'PUT' ? { authorization } : headers;
      const reply = await fetch(`${this.gatewayUrl}${path}`, { method, headers: own, body: body ?? null });
      const text = await reply.text();
      expect(reply.ok, text).to.equal(true);
      return JSON.parse(text) as Readonly<Record<string, unknown>>;
    };
    const input = { format, name, ...(crmId !== undefined && { crm_id_field: crmId }) };
    const body = { model_id: this.api.modelId, input, previous: false, strict: strict === true };
    const path = `/v1/jobs/${String((await call('/v1/jobs', 'POST', JSON.stringify(body))).job_id)}`;
    await call(`${path}/input`, 'PUT', new Uint8Array(bytes));
    const job = await atEnd(() => call(path));
    return await endedJob(job, `${this.gatewayUrl}${path}`, { authorization });
  }

  /** As `leadscore score`, with a test key: so it finds no job of another way. @returns its words in one line */
  async byCommand({ name, bytes, crmId, strict }: BroughtFile): Promise<{ results: string | undefined; said: string }> {
    const folder = await mkdtemp(join(this.directory, 'command-'));
    const [path, out] = [join(folder, name), join(folder, /jsonl/.test(name) ? 'out.jsonl' : 'out.csv')];
    await writeFile(path, bytes);
    const { stdout, stderr } = await callCli([
      ...['score', path, '--url', this.gatewayUrl, '--model', this.api.modelId, '--key', this.api.test],
      ...['--no-previous', '--yes', '--out', out, ...(crmId === undefined ? [] : ['--crm-id', crmId])],
      ...(strict === true ? ['--strict'] : []),
    ]);
    const results = await readFile(out, 'latin1').catch(() => undefined);
    return { results, said: inOneLine(`${stdout} ${stderr}`) };
  }

  /** Records that the ways have counted so far: the console, live keys and test keys. */
  async counted(): Promise<[console: number, live: number, test: number]> {
    const { console, api, service } = this;
    return await Promise.all([
      service.ledgerSum(console.organisationId),
      service.ledgerSum(api.organisationId),
      service.ledgerSum(api.organisationId, 'test'),
    ]);
  }
}

interface Owner {
  readonly organisationId: string;
  readonly modelId: string;
}

interface Preview {
  readonly format: FileFormat;
  readonly problem?: string;
}

export const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');

async function done(call: Promise<ConsoleReply>): Promise<ConsoleReply> {
  const reply = await call;
  expect(reply.status, JSON.stringify(reply.body)).to.be.within(200, 299);
  return reply;
}

/** The beginning of a file as the console's page sends it: inflated once, but not if it is compressed twice. */
function headOf(bytes: Buffer): { readonly head: string; readonly is_whole: boolean } {
  const isGzip = (some: Buffer): boolean => some.subarray(0, 2).equals(gzipMark);
  const text = isGzip(bytes) ? inflatedOf(bytes) : bytes;
  const sent = isGzip(text) ? bytes : text;
  return {
    head: sent.subarray(0, headBytes).toString('base64'),
    // A browser reads one member of a gzip file, and a damaged file up to its damage.
    is_whole: sent === bytes && sent.length <= headBytes,
  };
}

function inflatedOf(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { finishFlush: zlib.Z_SYNC_FLUSH });
  } catch {
    return Buffer.alloc(0);
  }
}

async function atEnd(
  read: () => Promise<Readonly<Record<string, unknown>>>,
): Promise<Readonly<Record<string, unknown>>> {
  return await eventually(
    async () => {
      const job = await read();
      expect(job.state).to.be.oneOf(ended);
      return job;
    },
    maxJobMs,
    150,
  );
}

async function endedJob(
  { state, error, progress, notices, input_summary: summary }: Readonly<Record<string, unknown>>,
  address: string,
  headers: Readonly<Record<string, string>>,
): Promise<EndedJob> {
  const counts = progress as Readonly<Record<string, unknown>>;
  const file = async (kind: string) =>
    state === 'failed' ? undefined : await downloaded(`${address}/${kind}`, headers);
  return {
    ...{ state, error: error as EndedJob['error'], notices: notices ?? [], summary },
    progress: Object.fromEntries(rows.map((name) => [name, counts[name]])),
    results: await file('results'),
    errors: await file('errors'),
  };
}

/** The bytes of a file, each as a character: a text would lose its byte order mark. */
async function downloaded(address: string, headers: Readonly<Record<string, string>>): Promise<string> {
  for (;;) {
    const reply = await fetch(address, { headers });
    const bytes = Buffer.from(await reply.arrayBuffer());
    if (reply.status === 200) return bytes.toString('latin1');
    expect(reply.status, String(bytes)).to.equal(429);
    await pause(1_000 * Number(reply.headers.get('retry-after')));
  }
}
