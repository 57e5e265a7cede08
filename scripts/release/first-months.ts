import { readOperatorConfig } from '../../shared/config/config.js';
import { dayMs } from '../../shared/contract/dates.js';
import { ModelStore } from '../../shared/store/models/models.js';
import { gradeAndPublish } from '../../worker/grading/job/grade-models.js';
import { runCli } from '../cli/run-cli.js';
import { generateLeads } from '../leads/lead-generator.js';
import { type LeadRecord, leadsCsv } from '../leads/lead-record.js';
import type { AboutFixture } from './fixture-file.js';
import { type Installation, until } from './installation.js';
import { answerInTime, type RecordedCall } from './recorded-answers.js';

/** How long before its end the story begins. Conversions count for 90 days. */
const storyDays = 150;
const leads = 300;
const converted = 45;
const daysToConvert = 30;
const rescored = 20;

export const startOfStory = (endMs: number): number => endMs - storyDays * dayMs;

/** Facts of the story that the answers depend on. */
export interface FirstMonths {
  readonly jobId: string;
  readonly erased: AboutFixture['erased'];
}

const crmIdOf = (row: number): string => `LEAD-${String(row).padStart(4, '0')}`;

/** A repeated call with an Idempotency-Key: its answer is the stored reply. */
const repeatedCall = (modelId: string): RecordedCall => ({
  ...{ method: 'POST', path: '/v1/score', key: 'live', headers: { 'idempotency-key': 'november-1' } },
  body: JSON.stringify({ model_id: modelId, records: [{ crm_id: crmIdOf(1), 'Lead Source': 'Referral' }] }),
});

/**
 * Fills an installation by the calls of some months.
 * - Calls: under two models, with a test key, by a webhook, explained, with an Idempotency-Key, and a bulk job.
 * - Others: outcomes and their verdict, changes by an operator, and an erased lead.
 */
export async function tellFirstMonths(installation: Installation, endMs: number): Promise<FirstMonths> {
  const { modelIds, keys, organisationId, servers } = installation;
  const [first = '', second = ''] = modelIds;
  const startMs = startOfStory(endMs);
  const records: LeadRecord[] = generateLeads({ seed: 7, count: leads, now: new Date(startMs) }).map(
    ({ record }, row) => ({ ...record, crm_id: crmIdOf(row) }),
  );
  const post = async (url: string, path: string, body: unknown, key = 'live'): Promise<string> => {
    const call = { method: 'POST', path, key, body: JSON.stringify(body) } as const;
    const { status, text } = await answerInTime(url, keys, call);
    if (status >= 300) throw new Error(`${path} was answered with ${status}: ${text}`);
    return text;
  };
  await installation.running(startMs, async (url) => {
    await post(url, '/v1/score', { model_id: first, records });
    await post(url, '/v1/score', { model_id: second, records: records.slice(0, rescored) });
    await post(url, '/v1/score', { model_id: first, records: records.slice(0, 2), explain: true });
    await post(url, '/v1/score', { model_id: first, records: records.slice(0, rescored) }, 'test');
    await post(url, `/v1/webhooks/score?model_id=${first}`, { crm_id: 'HOOK-1', 'Lead Source': 'Webinar' });
  });
  await installation.running(endMs - dayMs, async (url) => {
    const reported = startMs + daysToConvert * dayMs;
    const outcomes = records.map(({ crm_id }, row) => ({
      ...{ crm_id, converted: row < converted, at: new Date(reported).toISOString() },
    }));
    await post(url, '/v1/outcomes', { outcomes });
    // Half of the fields, so that the others are filled in from storage.
    const changed = records.slice(0, rescored).map(({ crm_id }) => ({ crm_id, 'Lead Source': 'Referral' }));
    await post(url, '/v1/score', { model_id: first, records: changed });
  });
  // Both, so that no pool grades one again at this time.
  for (const modelId of modelIds) await grade(installation, modelId, endMs);
  const settings = { REDIS_URL: servers.redisUrl, MONGODB_URL: servers.mongoUrl, KEY_PEPPER: servers.keyPepper };
  for (const words of [
    ['org', 'set', organisationId, '--limit', '20000'],
    ['key', 'create', organisationId, '--name', 'Left'],
  ]) {
    const config = () => readOperatorConfig(settings);
    const exitCode = await runCli(words, { stdout: process.stderr, stderr: process.stderr, readConfig: config });
    if (exitCode !== 0) throw new Error(`leadscore ${words.join(' ')} ended with ${exitCode}`);
  }
  let jobId = '';
  const erased = [crmIdOf(leads - 1)];
  await installation.running(endMs, async (url) => {
    await answerInTime(url, keys, repeatedCall(first));
    jobId = await scoreFile(url, { post, keys, modelId: first, file: leadsCsv(records.slice(0, 60)) });
    for (const crmId of erased) {
      const headers = { authorization: `Bearer ${keys.live}` };
      const { status } = await fetch(`${url}/v1/scores/${crmId}`, { method: 'DELETE', headers });
      if (status !== 204) throw new Error(`the erasure of ${crmId} was answered with ${status}`);
    }
  });
  return { jobId, erased };
}

async function grade({ database, redis }: Installation, modelId: string, nowMs: number): Promise<void> {
  const model = await new ModelStore(database).find(modelId);
  if (model === undefined) throw new Error(`there is no model ${modelId}`);
  const deps = { database, redis, clock: { now: () => nowMs } };
  await gradeAndPublish(deps, { model, version: model.version });
}

/** Scores a CSV file by a bulk job. @returns the id of the job, which is complete */
async function scoreFile(
  url: string,
  job: {
    readonly post: (url: string, path: string, body: unknown) => Promise<string>;
    readonly keys: AboutFixture['keys'];
    readonly modelId: string;
    readonly file: string;
  },
): Promise<string> {
  const { post, keys, modelId, file } = job;
  const input = { format: 'csv', crm_id_field: 'crm_id' };
  const { job_id: jobId }: { job_id: string } = JSON.parse(await post(url, '/v1/jobs', { model_id: modelId, input }));
  const headers = { authorization: `Bearer ${keys.live}` };
  const uploaded = await fetch(`${url}/v1/jobs/${jobId}/input`, { method: 'PUT', headers, body: file });
  if (!uploaded.ok) throw new Error(`the upload was answered with ${uploaded.status}: ${await uploaded.text()}`);
  return await until(async () => {
    const { text } = await answerInTime(url, keys, { method: 'GET', path: `/v1/jobs/${jobId}`, key: 'live' });
    const { state, ...job } = JSON.parse(text);
    if (['paused', 'failed', 'canceled'].includes(state))
      throw new Error(`the job is ${state}: ${JSON.stringify(job)}`);
    return state === 'completed' ? jobId : undefined;
  }, 'completed job');
}

/** The calls whose answers a fixture records, in their order: first those that change nothing. */
export function callsToRecord({ modelIds }: Installation, { jobId, erased }: FirstMonths): RecordedCall[] {
  const [first = '', second = ''] = modelIds;
  const reading = [
    ...['/v1/usage', '/v1/models', `/v1/models/${first}`, `/v1/models/${first}/coverage`],
    ...[0, 30].map((row) => `/v1/scores/${crmIdOf(row)}`),
    ...[`/v1/scores/${crmIdOf(0)}?model_id=${second}`, ...erased.map((crmId) => `/v1/scores/${crmId}`)],
    ...['', '/results', '/errors'].map((part) => `/v1/jobs/${jobId}${part}`),
  ].map((path): RecordedCall => ({ method: 'GET', path, key: 'live' }));
  // Under its first model, under another one, of an erased lead, and of a test key, which knows no leads.
  const scoring = [
    ...[first, second].map((model) => ({ model, key: 'live', crmId: crmIdOf(0) })),
    ...erased.map((crmId) => ({ model: first, key: 'live', crmId })),
    { model: first, key: 'test', crmId: crmIdOf(0) },
  ].map(
    ({ model, key, crmId }, index): RecordedCall => ({
      ...{ method: 'POST', path: '/v1/score', key, headers: { 'x-request-id': `fixture-${index}` } },
      body: JSON.stringify({ model_id: model, records: [{ crm_id: crmId, 'Lead Source': 'Referral' }] }),
    }),
  );
  return [...reading, { method: 'GET', path: '/v1/usage', key: 'test' }, repeatedCall(first), ...scoring];
}
