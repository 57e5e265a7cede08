import { httpConnections } from './calls/http-connections.js';
import { RecordedCalls } from './calls/recorded-calls.js';
import { BatchScorer } from './calls/score-batch.js';
import { ScoreClient } from './calls/score-client.js';
import { InputNames, readModelFields } from './input/field-names.js';
import { openInput } from './input/input-file.js';
import { openRun } from './output/open-run.js';
import { machineDisk } from './progress/disk.js';
import type { RunReport, ScoreFileOptions } from './run-report.js';
import { ScoreRun } from './score-run.js';

/**
 * Scores a file through the API into a CSV or JSONL file, in input order.
 * 1. Opens input and output. If an earlier run was interrupted, finds the rows that it has scored, by their content.
 * 2. Reads the model's fields and reports the ones that the file lacks.
 * 3. Groups records into calls and sends several concurrently. The first call goes alone, so that a wrong key or model
 *    is found early. Each call is on disk before it is sent, so that none is counted twice.
 * 4. Writes the results, and the progress after each batch. A row that cannot be scored gets a reason.
 * @throws CliError on an error that retries do not solve; the progress is kept
 */
export async function scoreFile(options: ScoreFileOptions): Promise<RunReport> {
  const { baseUrl, apiKey, modelId, signal, crmIdField: crm_id = null, explain, onlyScores: only_scores } = options;
  const { disk = machineDisk, connect = httpConnections, limits, ...paused } = options.replaced ?? {};
  const input = await openInput(options.path);
  const runOptions = { model: modelId, explain, crm_id, only_scores };
  const opened = await openRun(input, { options: runOptions, choice: options.output, disk });
  const { progress } = opened;
  const connections = connect({ connections: options.concurrency });
  try {
    const fields = await readModelFields({ baseUrl, apiKey, modelId, signal, get: connections.get });
    const { post } = connections;
    const client = new ScoreClient({ baseUrl, apiKey, post, signal, onWait: options.listener.waiting, ...paused });
    const calls = new RecordedCalls(client, progress.calls);
    const scorer = new BatchScorer(calls, { modelId, explain });
    const names = new InputNames(input.format, fields);
    const run = new ScoreRun({ options, input, opened, calls, scorer, fields, names, limits });
    try {
      return await run.finish(await run.sendAll());
    } catch (error) {
      throw await run.fail(error);
    }
  } finally {
    connections.close();
    await progress.close();
    await opened.release();
  }
}
