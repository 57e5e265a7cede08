import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { Document } from 'mongodb';
import { monthOf } from '../../../shared/contract/dates.js';
import { inputCall, jobOf, newJob, patchHeaders } from '../../http/jobs/job-calls.js';
import { cliDocument } from '../../scripts/cli/cli-call.js';
import { eventually } from '../eventually.js';
import { type HttpReply, httpCall } from '../http/http-call.js';
import { scored } from '../http/score-reply.js';
import { scoredWebhook } from '../http/webhook-answer.js';
import { sampleBundle } from '../models/sample-bundle.js';
import { tarArchive, tarEntries } from '../models/tar-archive.js';
import type { RunningService } from '../service/service.js';
import { type CallOptions, TestWorkspace } from '../service/workspace.js';
import { createKey, createModel, type UsableKey } from '../service/workspace-parts.js';

const sixCharacters = 'org_'.length + 6;
const unlimitedRate = 1_000_000;

/** An organisation of a whole service whose names, leads and values all contain one word. */
export class UsedOrganisation {
  /** Secrets of its keys, and of its people. */
  readonly secrets: string[] = [];
  private browser: Readonly<Record<string, string>> = {};
  private rounds = 0;

  private constructor(
    readonly own: TestWorkspace,
    readonly word: string,
    readonly name: string,
    /** May score and nothing else. */
    private readonly scoring: UsableKey,
  ) {}

  /**
   * @param word lower-case letters and digits, which no other organisation has
   * @param like its id begins with six characters of this one
   */
  static async create(service: RunningService, word: string, like?: string): Promise<UsedOrganisation> {
    const { stores, clock } = service;
    const name = `Company ${word}`;
    const fields = { name, plan: 'pro', limit: 1_000_000, policy: 'warn', won_values: [`won ${word}`] } as const;
    let organisation = await stores.organisations.create(fields, new Date(clock.now()));
    if (like !== undefined) {
      await stores.organisations.remove(organisation._id);
      organisation = { ...organisation, _id: like.slice(0, sixCharacters) + organisation._id.slice(sixCharacters) };
      await stores.database.collection<Document & { _id: string }>('orgs').insertOne(organisation);
    }
    const key = (kind: 'live' | 'test') => createKey(service, organisation._id, { kind, rate: unlimitedRate });
    const has = {
      live: await key('live'),
      test: await key('test'),
      model: await createModel(service, organisation._id, { bundle: sampleBundle({ name: `Model ${word}` }) }),
    };
    const own = new TestWorkspace(service, organisation, has);
    return new UsedOrganisation(own, word, name, await own.addKey('live', { scopes: ['score'] }));
  }

  lead(number: number): Record<string, unknown> {
    const { word } = this;
    const values = { lead_source: `source ${word}`, [`column ${word}`]: `cell ${word}`, company_size: 10 + number };
    return { crm_id: `lead-${word}-${number}`, ...values };
  }

  /** Uses everything that an organisation has, and waits until it is stored. */
  async useEverything(): Promise<void> {
    const { live, test } = this.own;
    for (const { secret } of [live, test, this.scoring]) this.secrets.push(secret);
    await this.score();
    await this.report();
    await this.runJobs();
    for (const reply of await this.refusedCalls()) expect(reply.status, reply.text).to.be.within(400, 499);
    await this.useConsole();
    await this.untilStored();
  }

  /** Scores in each way, and reads and erases leads. */
  async score(): Promise<void> {
    const { own, word } = this;
    this.rounds += 1;
    const from = 1_000 * this.rounds;
    const batch = Array.from({ length: 120 }, (_, index) => this.lead(from + index));
    scored(await own.score(batch, { explain: true }));
    scored(await own.score(batch));
    scored(await own.score([this.lead(from)], { key: own.test }));
    scored(await own.score([this.lead(from + 200)], { headers: { 'idempotency-key': `key-${word}-${from}` } }));
    scored(await own.score([this.lead(from + 201)], { key: this.scoring }));
    const path = '/v1/webhooks/score';
    scoredWebhook(await own.call(path, { body: { model_id: own.model._id, ...this.lead(from + 300) } }));
    scoredWebhook(await own.call(`${path}?model_id=${own.model._id}`, { body: { ...this.lead(from + 301) } }));
    for (const read of [
      `/v1/scores/lead-${word}-${from}`,
      `/v1/models/${own.model._id}/coverage`,
      '/v1/models',
      '/v1/usage',
      `/v1/usage/daily?month=${monthOf(own.service.clock.now())}`,
    ])
      expect((await own.call(read)).status, read).to.equal(200);
    const erased = await own.call(`/v1/scores/lead-${word}-${from + 201}`, { method: 'DELETE' });
    expect(erased.status, erased.text).to.equal(204);
  }

  private async report(): Promise<void> {
    const { own, word } = this;
    const at = new Date(own.service.clock.now()).toISOString();
    const outcomes = [{ crm_id: `lead-${word}-1000`, converted: true, at }];
    expect((await own.call('/v1/outcomes', { body: { outcomes } })).status).to.equal(200);
    for (const outcome of [`won ${word}`, `neither ${word}`]) {
      const body = { Id: `lead-${word}-1001`, outcome };
      expect((await own.call('/v1/webhooks/outcome', { body })).status).to.equal(200);
    }
  }

  /** A file to its end, with rows that cannot be scored; stored leads; and a file that is not complete. */
  private async runJobs(): Promise<void> {
    const { own, word } = this;
    const rows = Array.from({ length: 1_200 }, (_, row) => `lead-${word}-${row},${row},source ${word},cell ${word}`);
    const text = `crm_id,company_size,lead_source,column ${word}\n${rows.join('\n')}\n"open ${word}`;
    const { job_id: file } = await newJob(own, { explain: true, input: { name: `file ${word}.csv` } });
    jobOf(await inputCall(own, file, 'PUT', { bytes: gzipSync(text) }));
    const { job_id: stored } = await newJob(own, { input: { source: 'stored' } });
    for (const id of [file, stored])
      await eventually(async () => {
        const { state } = jobOf(await own.call(`/v1/jobs/${id}`));
        expect(state).to.be.oneOf(['completed', 'failed']);
      }, 60_000);
    const { job_id: open } = await newJob(own);
    const part = { bytes: Buffer.from(`crm_id\nlead-${word}-9`), headers: patchHeaders(0, 1_000) };
    expect((await inputCall(own, open, 'PATCH', part)).status).to.equal(204);
  }

  /** Calls that no key of this organisation may make, or that are wrong, in each of which its data stands. */
  async refusedCalls(): Promise<readonly HttpReply[]> {
    const { own, word } = this;
    const wrong = { model_id: own.model._id, records: [{ ...this.lead(1), company_size: { size: `size ${word}` } }] };
    const calls: readonly (readonly [path: string, options: Parameters<TestWorkspace['call']>[1]])[] = [
      ['/v1/score', { body: wrong }],
      ['/v1/score', { body: `{"${word}"` }],
      ['/v1/score', { body: { model_id: `model-${word}`, records: [this.lead(1)] } }],
      ['/v1/score', { body: { model_id: own.model._id, records: `records ${word}` } }],
      ['/v1/webhooks/score', { body: { ...this.lead(1), model_id: `model-${word}` } }],
      ['/v1/outcomes', { body: { outcomes: [{ crm_id: `lead-${word}-1`, converted: true, at: `day ${word}` }] } }],
      ['/v1/webhooks/outcome', { body: { Id: `lead-${word}-1`, outcome: { is: word } } }],
      ['/v1/jobs', { body: { model_id: `model-${word}`, input: { name: `file ${word}` } } }],
      [`/v1/jobs/job-${word}`, {}],
      [`/v1/scores/lead-${word}-1`, { key: this.scoring }],
      [`/v1/scores/lead-${word}-1`, { key: this.scoring, method: 'DELETE' }],
      [`/v1/scores/lead-${word}-1?cursor=${word}`, {}],
      [`/v1/models/model-${word}`, {}],
      [`/v1/${word}`, {}],
    ];
    const replies: HttpReply[] = [];
    for (const [path, options] of calls) replies.push(await own.call(path, options));
    return replies;
  }

  /** Calls that score, read, erase and report, as the programs of the organisation go on sending them. */
  async callsOfPrograms(options: CallOptions = {}): Promise<readonly HttpReply[]> {
    const { own, word } = this;
    const at = new Date(own.service.clock.now()).toISOString();
    const replies = await this.refusedCalls();
    const sent = [
      own.score([this.lead(1), this.lead(2)], { explain: true, ...options }),
      own.score([this.lead(3)], { ...options, headers: { 'idempotency-key': `key-${word}-1000` } }),
      own.call('/v1/webhooks/score', { ...options, body: { model_id: own.model._id, ...this.lead(4) } }),
      own.call('/v1/webhooks/outcome', { ...options, body: { Id: `lead-${word}-1`, outcome: `won ${word}` } }),
      own.call('/v1/outcomes', { ...options, body: { outcomes: [{ crm_id: `lead-${word}-1`, converted: true, at }] } }),
      own.call('/v1/jobs', { ...options, body: { model_id: own.model._id, input: { name: `file ${word}` } } }),
      own.call(`/v1/scores/lead-${word}-1`, options),
      own.call(`/v1/scores/lead-${word}-1`, { ...options, method: 'DELETE' }),
    ];
    return [...replies, ...(await Promise.all(sent))];
  }

  /** Signs an owner in, and opens pages. A second link stays unused. */
  private async useConsole(): Promise<void> {
    const { own, word } = this;
    const { settings } = this;
    const link = async (name: string): Promise<string> => {
      const { url } = await cliDocument(['console', 'login', own.id, '--name', name, '--role', 'owner'], settings);
      const secret = String(url).split('#')[1] ?? '';
      this.secrets.push(secret);
      return secret;
    };
    await link(`Bea ${word}`);
    const begun = await this.console('POST', '/session', { link: await link(`Ada ${word}`) });
    const cookie = (begun.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    this.secrets.push(cookie.split('=')[1] ?? '');
    this.browser = { cookie };
    for (const reply of await this.openPages()) expect(reply.status, reply.text).to.be.within(200, 299);
    await cliDocument(
      ['console', 'member', 'add', own.id, '--email', `eve-${word}-${this.rounds}@example.com`, '--role', 'viewer'],
      settings,
    );
  }

  /** Opens pages of the console, plays and uploads a bundle, with the session of its owner. */
  async openPages(): Promise<readonly HttpReply[]> {
    const { own, word } = this;
    const org = `/orgs/${own.id}`;
    const { crm_id: _, ...fields } = this.lead(1);
    const bundle = await tarArchive(tarEntries(sampleBundle({ name: `Upload ${word}` }), ''));
    const replies = [
      await this.console('POST', `${org}/playground`, { model_id: own.model._id, fields }),
      await this.console('POST', `${org}/keys`, { name: `Key ${word}`, kind: 'test' }),
      await this.console('POST', `${org}/uploads`, gzipSync(bundle)),
      await this.console('PATCH', `${org}/models/${own.model._id}`, { name: `Renamed ${word}` }),
    ];
    for (const page of [
      ...[
        '/overview',
        '/attention',
        '/usage',
        '/refused-calls',
        '/recent-leads',
        '/audit',
        '/keys',
        '/jobs',
        '/outcomes',
      ],
      ...[`/leads?prefix=lead-${word}`, `/leads/lead-${word}-1000`, `/leads/lead-${word}-1000/export`],
    ])
      replies.push(await this.console('GET', `${org}${page}`));
    return replies;
  }

  private async console(method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown): Promise<HttpReply> {
    const { consoleUrl } = this.own.service.stack;
    const headers = { 'sec-fetch-site': 'same-origin', ...this.browser };
    if (!(body instanceof Uint8Array))
      return await httpCall(`${consoleUrl}/admin/v1${path}`, { method, headers, body });
    const type = { 'content-type': 'application/gzip' };
    const reply = await fetch(`${consoleUrl}/admin/v1${path}`, {
      ...{ method, headers: { ...headers, ...type } },
      body: new Uint8Array(body),
    });
    return { status: reply.status, headers: reply.headers, text: await reply.text() };
  }

  /** The environment of commands on the service. */
  get settings(): Readonly<Record<string, string>> {
    const { urls, keyPepper } = this.own.service;
    return { MONGODB_URL: urls.mongoUrl, REDIS_URL: urls.redisUrl, KEY_PEPPER: keyPepper };
  }

  /** Waits for what processes write later: activity, coverage, refused calls, grades and checks of uploads. */
  private async untilStored(): Promise<void> {
    const { database } = this.own.service.stores;
    const { redis } = this.own.service;
    await eventually(async () => {
      for (const name of ['call_days', 'field_days'])
        expect(await database.collection(name).countDocuments({ org: this.own.id }), name).to.be.above(0);
      expect(await redis.llen(`{${this.own.id}}:refused-calls`)).to.be.above(0);
      const checked = { org: this.own.id, state: 'passed' };
      expect(await database.collection('console_uploads').countDocuments(checked)).to.be.above(0);
    }, 20_000);
  }
}
