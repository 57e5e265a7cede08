import { httpConnections } from './http-connections.js';
import { openInput } from './input-file.js';
import { InputNames } from './input-names.js';
import { readModelFields } from './model-fields.js';
import { openRun } from './open-run.js';
import { BatchScorer } from './score-batch.js';
import { ScoreClient } from './score-client.js';
import { type RunReport, type ScoreFileOptions, ScoreRun } from './score-run.js';

/**
 * Scores a file through the API, in order, into a CSV or JSONL file.
 * 1. Opens the input and the output; finds out whether an earlier run was stopped, and passes over what it has done.
 * 2. Asks which fields the model knows, and says what of them the file has not.
 * 3. Reads records, groups them into calls and keeps several calls under way; the first one goes alone, so that a wrong
 *    key or model is found before much is sent.
 * 4. Writes results in input order, and after each batch how far it has come.
 * @throws CliError when something stands in the way that a retry does not clear; what is done is kept
 */
export async function scoreFile(options: ScoreFileOptions): Promise<RunReport> {
  const input = await openInput(options.path);
  const runOptions = { model: options.modelId, explain: options.explain, crm_id: options.crmIdField ?? null };
  const opened = await openRun(input, runOptions, options.output);
  const connections = httpConnections({ connections: options.concurrency });
  const { baseUrl, apiKey, modelId, signal } = options;
  const fields = await readModelFields({ baseUrl, apiKey, modelId, signal, get: connections.get });
  const client = new ScoreClient({
    baseUrl,
    apiKey,
    post: connections.post,
    signal,
    onWait: options.listener.waiting,
  });
  const template = { run: opened.state.run, modelId, explain: options.explain };
  const scorer = new BatchScorer(client, template);
  const names = new InputNames(input.format, fields);
  const run = new ScoreRun({ options, input, opened, scorer, names });
  try {
    return await run.finish(await run.toTheEnd());
  } catch (error) {
    throw await run.giveUp(error);
  } finally {
    connections.close();
    await opened.output.close();
  }
}
