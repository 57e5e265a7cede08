import { writeFile } from 'node:fs/promises';
import { ScoreHistogram } from '../../cli/output/charts.js';
import { countText, readableBytes } from '../../cli/output/readable-numbers.js';
import { changedLeads, generateLeads } from '../../leads/lead-generator.js';
import { leadsCsv } from '../../leads/lead-record.js';
import { pastLeads } from '../../leads/past-leads.js';
import type { DemoService } from './demo-service.js';
import { createWorkspace } from './demo-workspace.js';
import { movementOf, rankedLeads, rankingQuality } from './figures.js';
import { writeHistory } from './history.js';
import { partnerLeads, scorePartnerFile } from './partner-file.js';
import { post, scorePass, singleCall } from './score-calls.js';
import type { Screen } from './screen.js';
import * as show from './show.js';

export interface TourDeps {
  readonly options: { readonly records: number; readonly seed: number; readonly keep: boolean };
  readonly service: DemoService;
  readonly screen: Screen;
  readonly signal: AbortSignal;
}

/** Enough for a model without a note about their number. */
const pastLeadCount = 4_800;

/**
 * 1. Starts servers, gateway and workers; creates an organisation, a model, a key and a file of leads.
 * 2. Scores the file, asks for the reasons of the best and the worst leads, and shows how well scores rank.
 * 3. Changes some leads, scores all of them again, and shows whose score moved.
 * 4. Scores a file with a renamed column and an unknown value, and shows how the command line names both.
 * 5. Shows the month's usage, and one call with its answer.
 * 6. Makes up a past for the console, if it stays up.
 * @throws Error or CliError saying what to do; the signal's reason when it is aborted
 */
export async function tour(deps: TourDeps) {
  const { options, service, screen } = deps;
  const { files } = service;
  const { url, consoleUrl, ended, workspace, servers } = await startAll(deps);
  const leads = await writeLeads(deps);
  if (options.keep) await writePastLeads(deps);
  const { model, organisation, apiKey } = workspace;
  const signal = AbortSignal.any([deps.signal, abortedBy(ended)]);
  const target = { baseUrl: url, modelId: model._id, apiKey };

  screen.print();
  const sent = leads.map((lead) => lead.record);
  const first = await scorePass({ ...target, label: 'Scoring', records: sent }, screen.stream, signal);
  show.pass(screen, first);
  const ranked = rankedLeads(leads, first.rows);
  const best = ranked.slice(0, 8);
  const worst = ranked.slice(Math.max(8, ranked.length - 4));
  const records = [...best, ...worst].map(({ row }) => ({ crm_id: row.crm_id }));
  const tidy = ranked.find(({ lead }) => lead.untidyFields.length === 0) ?? ranked[0];
  const call = singleCall(target, tidy?.lead.record ?? {});
  const body = JSON.stringify({ model_id: model._id, explain: true, records });
  const explained = await post<show.ScoreReply>({ ...call, body }, signal);
  show.bestAndWorst(screen, { best, worst, reasons: explained.scores });
  const histogram = new ScoreHistogram();
  for (const { score } of first.rows) histogram.add(score);
  show.scores(screen, first.rows, histogram.bins());
  const outcomes = ranked.map(({ lead, row }) => ({ score: row.score, converted: lead.converted === 1 }));
  const ranking = rankingQuality(outcomes);
  show.ranking(screen, ranking);

  const changes = changedLeads(sent, { seed: options.seed, now: new Date() });
  const again = changes.map((change) => change.record);
  await writeFile(files.changes, leadsCsv(again));
  const changed = changes.filter(({ what }) => what !== undefined).length;
  screen.heading(`Then something happens to ${changed === 0 ? 'none' : countText(changed)} of the leads`);
  const second = await scorePass({ ...target, label: 'Scoring again', records: again }, screen.stream, signal);
  show.pass(screen, second);
  const { biggest, ...moves } = movementOf(leads, changes, second.rows);
  show.movement(screen, second, { biggest, ...moves });

  const partnerOptions = { seed: options.seed, features: workspace.features, target, signal };
  const partner = await scorePartnerFile(partnerOptions, service, screen);
  show.partnerFile(screen, partner);

  const reply = await post<show.ScoreReply>(call, signal);
  show.usage(screen, reply.usage);
  show.call(screen, call, reply);
  const link =
    consoleUrl && (await history(screen, { servers, consoleUrl, workspace, target, scored: ranked, signal }));
  const movers = biggest.map(({ row, change, delta }) => {
    const { crm_id, previous_score, score } = row;
    return { crm_id, previous_score, score, delta, sent: change.record };
  });
  const document = {
    ...{ records: options.records, seed: options.seed },
    urls: { service: url, score: `${url}/v1/score`, docs: `${url}/docs`, ready: `${url}/readyz` },
    ...{ org_id: organisation._id, plan: organisation.plan },
    ...{ model_id: model._id, model_version: model.version, api_key: apiKey },
    first_pass: { ...first.summary, histogram: histogram.bins() },
    ranking: { synthetic: true, ...ranking },
    second_pass: { ...second.summary, changed, ...moves, biggest_movers: movers },
    partner_file: {
      ...{ records: partner.corrected.length, input_summary: partner.input },
      changed: partner.corrected.filter(({ delta = 0 }) => delta !== 0).length,
    },
    usage: reply.usage,
  };
  return { url, link, ended, workspace, document };
}

async function startAll({ options, service, screen }: TourDeps) {
  const { config } = service;
  const servers = await screen.step('servers', {
    doing: 'starting Redis and MongoDB',
    work: () => service.startServers(),
    outcome: () => `a Redis and a MongoDB of its own, data in ${service.shown()}`,
  });
  const running = await screen.step('service', {
    doing: 'starting a gateway and workers',
    work: () => service.start(servers, { withConsole: options.keep }),
    outcome: ({ url }) => `a gateway on ${url}, ${config.workers} ${config.workers === 1 ? 'worker' : 'workers'}`,
  });
  // Both passes, the reasons, the partner's file twice, the call at the end, and a month of the made-up past.
  const records = 2 * options.records + 13 + 2 * partnerLeads + (options.keep ? 20_000 : 0);
  const workspace = await screen.step('workspace', {
    doing: 'creating an organisation, a model and a key',
    work: () => createWorkspace({ servers, keyBrand: config.keyBrand, records, now: new Date() }),
    outcome: ({ organisation, limit, model, fieldCount }) =>
      `organisation "${organisation.name}" on plan ${organisation.plan}: ${countText(limit)} records a month\n` +
      `model "${model.name}" ${model.version}, which reads ${fieldCount} CRM fields\n` +
      'a live API key, stored only as a hash',
  });
  return { ...running, workspace, servers };
}

/** @returns a link that opens the console */
async function history(screen: Screen, deps: Parameters<typeof writeHistory>[0]): Promise<string> {
  screen.heading('Four months of use, for the console');
  const { link } = await screen.step('history', {
    doing: 'writing earlier calls, outcomes and a grade',
    work: () => writeHistory(deps),
    outcome: ({ records }) =>
      `${countText(records)} earlier predictions, outcomes of all leads, and a grade of the model`,
  });
  return link;
}

async function writeLeads({ options, service, screen }: TourDeps) {
  const leads = generateLeads({ seed: options.seed, count: options.records, now: new Date() });
  const csv = leadsCsv(leads.map((lead) => lead.record));
  await screen.step('leads', {
    doing: 'writing the file',
    work: () => writeFile(service.files.leads, csv),
    outcome: () =>
      `${countText(leads.length)} made-up CRM records, untidy as real ones, in\n` +
      `${service.shown(service.files.leads)} (${readableBytes(Buffer.byteLength(csv))})`,
  });
  return leads;
}

/** To train a model on. Their seeds differ from those of the leads above. */
async function writePastLeads({ options, service, screen }: TourDeps): Promise<void> {
  const leads = pastLeads({ seed: options.seed + 1_000, count: pastLeadCount, now: new Date() });
  const csv = leadsCsv(leads);
  await screen.step('past leads', {
    doing: 'writing the file',
    work: () => writeFile(service.files.past_leads, csv),
    outcome: () =>
      `${countText(leads.length)} made-up leads with their outcome, to train a model on, in\n` +
      `${service.shown(service.files.past_leads)} (${readableBytes(Buffer.byteLength(csv))})`,
  });
}

function abortedBy(ended: Promise<Error>): AbortSignal {
  const controller = new AbortController();
  void ended.then((problem) => controller.abort(problem));
  return controller.signal;
}
