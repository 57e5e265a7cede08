import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { readBundle } from '../../../shared/bundle/archive/read-bundle.js';
import { type CheckedBundle, checkBundle } from '../../../shared/bundle/check-bundle.js';
import { readOperatorConfig } from '../../../shared/config/config.js';
import { dayMs, monthOf } from '../../../shared/contract/dates.js';
import { callIdGenerator } from '../../../shared/contract/identifiers.js';
import { projectFile } from '../../../shared/process/project-root.js';
import {
  type CallDocument,
  CallDocuments,
  callDocuments,
  inCommands,
} from '../../../shared/store/calls/call-documents.js';
import { segmentsOf } from '../../../shared/store/calls/prediction-segment.js';
import { connectMongo } from '../../../shared/store/connection/connect.js';
import { CallDayStore, dayOf, latencyBucket } from '../../../shared/store/console/call-days.js';
import type { Model } from '../../../shared/store/models/models.js';
import { createModel } from '../../../shared/store/models/store-version.js';
import { compileModel } from '../../../worker/models/loaded-model.js';
import { runCli } from '../../cli/run-cli.js';
import { seededRandom } from '../../leads/seeded-random.js';
import type { ServersWithPepper } from '../../servers/private-servers.js';
import type { Workspace } from './demo-workspace.js';
import type { ScoredLead } from './figures.js';
import { daysBack, type PastRow, pastRows, pastSpan, pastStates } from './past-states.js';
import { post, type ScoreTarget } from './score-calls.js';

/** Leads scored so many days ago are old enough for a grade. */
const gradedDays = 90;
const outcomesPerCall = 1_000;
const secondModel = { name: 'Expansion, existing accounts', leads: 96, days: 20 };

interface HistoryDeps {
  readonly servers: ServersWithPepper;
  readonly consoleUrl: string;
  readonly workspace: Workspace;
  readonly target: ScoreTarget;
  readonly scored: readonly ScoredLead[];
  readonly signal: AbortSignal;
}

/**
 * Writes four months of calls as the service leaves them, with the scores of the demo's leads, reports outcomes, and
 * grades the model. Then the console has usage, a passed model, an undecided one, and leads whose scores moved.
 * @returns a one-time link that signs in as an owner
 */
export async function writeHistory(deps: HistoryDeps): Promise<{ readonly records: number; readonly link: string }> {
  const { servers, workspace, target, scored, signal } = deps;
  const { client, database } = await connectMongo(servers.mongoUrl, { name: 'leadscore-demo', maxPoolSize: 4 });
  try {
    const bundle = checkBundle(await readBundle(projectFile('scripts/demo/bundle')));
    const { _id: organisationId } = workspace.organisation;
    const other = await createModel(database, { organisationId, bundle, now: new Date() });
    await command(deps, ['model', 'set', other._id, '--name', secondModel.name]);
    const past = pastCalls(scored, { model: workspace.model, other });
    const documents = await documentsOf(past, { bundle, scored, workspace });
    const calls = new CallDocuments(database);
    for (const part of inCommands(documents)) {
      const { failed } = await calls.insertEach(part, signal);
      if (failed.size > 0) throw new Error('MongoDB did not take all calls of the made-up past');
    }
    await new CallDayStore(database).add(past.map((call) => dayOfCall(call, workspace)));
    await reportOutcomes(past, { target, signal });
    await command(deps, ['usage', 'reconcile', organisationId]);
    await command(deps, ['validation', 'run', workspace.model._id]);
    const link = await command(deps, ['console', 'login', organisationId, '--name', 'Ada', '--role', 'owner']);
    return { records: past.reduce((sum, { leads }) => sum + leads.length, 0), link: String(link.url) };
  } finally {
    await client.close();
  }
}

/** A call of the made-up past. */
interface PastCall {
  readonly model: Model;
  readonly atMs: number;
  readonly daysAgo: number;
  readonly leads: readonly ScoredLead[];
}

/** A call on each day: more on the days that are graded and on weekdays. */
function pastCalls(
  scored: readonly ScoredLead[],
  models: { readonly model: Model; readonly other: Model },
): PastCall[] {
  const random = seededRandom(scored.length);
  const shuffled = scored.map((lead) => ({ lead, order: random.integer(0, 1e9) })).sort((a, b) => a.order - b.order);
  let next = 0;
  const take = (count: number): ScoredLead[] =>
    Array.from({ length: count }, () => shuffled[next++ % shuffled.length]?.lead).filter((lead) => lead !== undefined);
  const calls: PastCall[] = [];
  for (let daysAgo = daysBack; daysAgo > 0; daysAgo -= 1) {
    const atMs = Date.now() - daysAgo * dayMs + random.integer(-5, 5) * 600_000;
    const isWeekend = [0, 6].includes(new Date(atMs).getUTCDay());
    const count = daysAgo >= gradedDays ? 70 : isWeekend ? random.integer(60, 150) : random.integer(400, 900);
    calls.push({ model: models.model, atMs, daysAgo, leads: take(count) });
  }
  const perCall = secondModel.leads / secondModel.days;
  for (let daysAgo = secondModel.days; daysAgo > 0; daysAgo -= 1) {
    const leads = take(Math.round(perCall * daysAgo) - Math.round(perCall * (daysAgo - 1)));
    calls.push({ model: models.other, atMs: Date.now() - daysAgo * dayMs + 3_600_000, daysAgo, leads });
  }
  return calls;
}

const newCallId = callIdGenerator();

/** The documents of all calls. Both models are versions of one bundle. */
async function documentsOf(
  past: readonly PastCall[],
  { bundle, scored, workspace }: Pick<HistoryDeps, 'scored' | 'workspace'> & { readonly bundle: CheckedBundle },
): Promise<CallDocument[]> {
  const leads = scored.map(({ lead }) => lead);
  const states = pastStates(leads, pastSpan(Date.now()));
  const model = await compileModel(bundle.manifest, bundle.onnx);
  try {
    const documents: CallDocument[] = [];
    for (const call of past) {
      const rows = await pastRows(call, { states, model });
      documents.push(...documentsOfCall(call, rows, workspace));
    }
    return documents;
  } finally {
    await model.session.release();
  }
}

function documentsOfCall({ model, atMs }: PastCall, rows: readonly PastRow[], workspace: Workspace): CallDocument[] {
  const org = workspace.organisation._id;
  const callId = newCallId(atMs, org);
  const at = new Date(atMs);
  const segments = segmentsOf({
    ...{ callId, org, model: model._id, version: model.version, at },
    crmIds: rows.map(({ crmId }) => crmId),
    scores: rows.map(({ score }) => score),
    likelihoods: rows.map(({ likelihood }) => likelihood),
    fields: rows.map(({ fields }) => fields),
  });
  const call = { _id: callId, request_id: callId, org, key: workspace.keyId, bucket: 'live' as const, at };
  const ledger = { month: monthOf(atMs), records: rows.length, model: model._id, version: model.version };
  return callDocuments({ ...call, ...ledger }, segments);
}

/** The activity of a call as a gateway counts it, with some latency. */
function dayOfCall({ model, atMs, leads }: PastCall, { organisation, keyId }: Workspace) {
  const latencyMs = 30 + (leads.length % 5) * 4;
  return {
    ...{ org: organisation._id, key: keyId, bucket: 'live' as const, model: model._id, day: dayOf(atMs) },
    ...{ calls: 1, records: leads.length, latency: { [latencyBucket(latencyMs)]: 1 }, last_at: new Date(atMs) },
  };
}

async function reportOutcomes(
  calls: readonly PastCall[],
  { target, signal }: { readonly target: ScoreTarget; readonly signal: AbortSignal },
): Promise<void> {
  const headers = { Authorization: `Bearer ${target.apiKey}`, 'Content-Type': 'application/json' };
  // A lead's first score decides. Leads of the last weeks have not converted yet.
  const first = new Map(calls.toReversed().flatMap((call) => call.leads.map(({ lead }) => [lead, call])));
  const outcomes = [...first].map(([lead, { atMs, daysAgo }]) => ({
    crm_id: lead.record.crm_id,
    converted: daysAgo >= gradedDays && lead.converted === 1,
    at: new Date(Math.min(atMs + 30 * dayMs, Date.now())).toISOString(),
  }));
  for (let from = 0; from < outcomes.length; from += outcomesPerCall) {
    const body = JSON.stringify({ outcomes: outcomes.slice(from, from + outcomesPerCall) });
    await post({ url: `${target.baseUrl}/v1/outcomes`, headers, body }, signal);
  }
}

/** Runs `npx leadscore` on the demo's servers, and returns its document. */
async function command({ servers, consoleUrl }: HistoryDeps, words: string[]): Promise<Record<string, unknown>> {
  const { redisUrl, mongoUrl, keyPepper } = servers;
  const settings = { REDIS_URL: redisUrl, MONGODB_URL: mongoUrl, KEY_PEPPER: keyPepper, CONSOLE_URL: consoleUrl };
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()].map((stream) =>
    Object.assign(stream, { isTTY: false }),
  ) as [Terminal, Terminal, Terminal];
  const [printed, problem] = [text(stdout), text(stderr)];
  const readConfig = () => readOperatorConfig(settings);
  const exitCode = await runCli([...words, '--json'], { stdin, stdout, stderr, readConfig });
  for (const stream of [stdin, stdout, stderr]) stream.end();
  if (exitCode !== 0) throw new Error(`leadscore ${words.join(' ')} failed: ${await problem}`);
  return JSON.parse(await printed);
}

type Terminal = PassThrough & { isTTY: boolean };
