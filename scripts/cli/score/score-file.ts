import { httpConnections } from './http-connections.js';
import { openInput } from './input-file.js';
import { openRun } from './open-run.js';
import { BatchScorer } from './score-batch.js';
import { ScoreClient } from './score-client.js';
import { type RunReport, type ScoreFileOptions, ScoreRun } from './score-run.js';

/**
 * Scores a file through the API, in order, into a CSV or JSONL file.
 * 1. Opens the input and the output; finds out whether an earlier run was stopped, and passes over what it has done.
 * 2. Reads records, groups them into calls and keeps several calls under way; the first one goes alone, so that a wrong
 *    key or model is found before much is sent.
 * 3. Writes results in input order, and after each batch how far it has come.
 * @throws CliError when something stands in the way that a retry does not clear; what is done is kept
 */
export async function scoreFile(options: ScoreFileOptions): Promise<RunReport> {
  const input = await openInput(options.path);
  const runOptions = { model: options.modelId, explain: options.explain, crm_id: options.crmIdField ?? null };
  const opened = await openRun(input, runOptions, options.output);
  const connections = httpConnections({ connections: options.concurrency });
  const client = new ScoreClient({
    baseUrl: options.baseUrl,
    apiKey: options.apiKey,
    post: connections.post,
    signal: options.signal,
    onWait: options.listener.waiting,
  });
  const template = { run: opened.state.run, modelId: options.modelId, explain: options.explain };
  const run = new ScoreRun({ options, input, opened, scorer: new BatchScorer(client, template) });
  try {
    return await run.finish(await run.toTheEnd());
  } catch (error) {
    throw await run.giveUp(error);
  } finally {
    connections.close();
    await opened.output.close();
  }
}
