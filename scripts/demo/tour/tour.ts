import { writeFile } from 'node:fs/promises';
import { readableCount } from '../../terminal/readable-numbers.js';
import { leadsCsv } from '../leads-csv.js';
import { changedLeads } from './changed-leads.js';
import { DemoProblem } from './demo-problem.js';
import type { RunningService } from './demo-stage.js';
import type { Workspace } from './demo-workspace.js';
import { type FirstCall, firstCall } from './first-call.js';
import { rankingQuality } from './ranking-quality.js';
import { scorePass } from './score-pass.js';
import { setTheStage, type TourParts, writeLeads } from './set-the-stage.js';
import { showCall } from './show-call.js';
import { showFirstPass } from './show-first-pass.js';
import { showMovers } from './show-movers.js';
import { showUsage } from './show-usage.js';
import { shownLeads } from './shown-reasons.js';
import { movedLeads, rankedLeads, type ScoredLead, type TourResult } from './tour-result.js';

/**
 * The tour, told on the screen as it goes.
 * 1. Servers, gateway, workers; an organisation, a model and a key; a file of leads.
 * 2. Scores the file, asks for the reasons of the best and the worst, and shows these, the histogram, and how well the
 *    scores rank.
 * 3. Lets some leads do something, scores all of them again, and shows who moved.
 * 4. Shows the month's usage, and one call with its answer.
 * @throws DemoProblem or CliError saying what to do; the signal's reason when it is aborted
 */
export async function tour(parts: TourParts): Promise<TourResult> {
  const { options, directory, screen } = parts;
  const now = new Date();
  const { service, workspace } = await setTheStage(parts, now);
  const signal = abortedAlsoBy(service.ended, parts.signal);
  const leads = await writeLeads(parts, now);

  const scoring = {
    url: service.url,
    modelId: workspace.model._id,
    apiKey: workspace.apiKey,
    stream: screen.stream,
    signal,
  };
  screen.print();
  const first = await scorePass({
    ...scoring,
    label: 'Scoring',
    path: directory.file('leads'),
    outputPath: directory.file('scored'),
  });
  const ranked = rankedLeads(leads, first.rows);
  const quality = rankingQuality(
    ranked.map(({ lead, row }) => ({ score: row.score, converted: lead.converted === 1 })),
  );
  const shown = await shownLeads(ranked, scoring);
  showFirstPass(screen, { first, ranked, quality, shown });

  const changes = changedLeads(
    leads.map((lead) => lead.record),
    { seed: options.seed, now: new Date() },
  );
  await writeFile(directory.file('changes'), leadsCsv(changes.map((change) => change.record)));
  const happening = changes.filter((change) => change.what !== undefined).length;
  screen.heading(
    `Then ${happening === 0 ? 'none' : readableCount(happening)} of the leads ${happening === 1 ? 'does' : 'do'} something`,
  );
  const second = await scorePass({
    ...scoring,
    label: 'Scoring again',
    path: directory.file('changes'),
    outputPath: directory.file('rescored'),
  });
  const moved = movedLeads(leads, { changes, rows: second.rows });
  showMovers(screen, { second, moved });

  const { call, reply } = await callOnce({ service, workspace, ranked, signal });
  const result = { service, workspace, first, ranked, quality, second, moved, call, reply };
  showUsage(screen, result);
  showCall(screen, result);
  return result;
}

/** A signal that is also aborted, with the problem as its reason, when a part of the service ends. */
function abortedAlsoBy(ended: Promise<DemoProblem>, signal: AbortSignal): AbortSignal {
  const died = new AbortController();
  void ended.then((problem) => died.abort(problem));
  return AbortSignal.any([signal, died.signal]);
}

/** Makes the call that is shown, and reads its answer. */
async function callOnce({
  service,
  workspace,
  ranked,
  signal,
}: {
  readonly service: RunningService;
  readonly workspace: Workspace;
  readonly ranked: readonly ScoredLead[];
  readonly signal: AbortSignal;
}): Promise<{ call: FirstCall; reply: Readonly<Record<string, unknown>> }> {
  const tidy = ranked.find(({ lead }) => lead.untidyFields.length === 0) ?? ranked[0];
  const record = tidy?.lead.record ?? {};
  const { model, apiKey } = workspace;
  const call = firstCall({ url: service.url, apiKey, modelId: model._id, record });
  const response = await fetch(call.url, { method: 'POST', headers: call.headers, body: call.body, signal });
  const reply: unknown = await response.json();
  if (response.status !== 200 || typeof reply !== 'object' || reply === null)
    throw new DemoProblem(`A call was refused with status ${response.status}: ${JSON.stringify(reply)}`);
  return { call, reply: { ...reply } };
}
