import { InvalidArgumentError } from 'commander';
import { countText } from '../../../shared/contract/figures.js';
import { isoDate } from '../commands/define-command.js';
import type { CliContext, CommandResult } from '../context/cli-context.js';
import { usageError } from '../context/cli-error.js';
import { untilInterrupted } from '../context/file-run.js';
import { type CollectedLeads, collectLeads, leftOutText } from './stored/collect-leads.js';
import { train } from './train-model.js';
import { checkStoredOptions, storedWords, type TrainOptions } from './train-options.js';
import { trainingText } from './training-text.js';

/**
 * Trains a version of a model on its stored leads. It imports nothing: the command that makes the bundle a candidate is
 * printed.
 * @throws CliError of the leads and of the training; after an interruption nothing is written
 */
export async function trainOnStored(context: CliContext, options: TrainOptions): Promise<CommandResult> {
  const { from: organisationId, model: modelId } = checkStoredOptions(options);
  const dates = { ...dateOf('since', options), ...dateOf('until', options) };
  const trained = await untilInterrupted(async (signal) => {
    const { skip = [], yes = false } = options;
    const leads = await collectLeads(context, {
      ...{ organisationId, modelId, skipped: skip, yes, signal },
      ...dates,
    });
    try {
      if (options.json !== true) context.stderr.write(`${leadsText(leads)}\n`);
      const words = storedWords(options, context);
      return await train(context, options, { words, signal, rows: linesOf(leads) });
    } finally {
      await leads.rows.close();
    }
  });
  const { folder, bundle, report, training } = trained;
  const next = `npx leadscore model import ${bundle} --org ${organisationId} --model ${modelId} --candidate`;
  return {
    document: { folder, bundle, report, training, import: next },
    text: `${trainingText(trained, context.stdout)}\n\nMake it the candidate: ${next}`,
  };
}

/** A date of the options. For a file, the training reads it. */
function dateOf(name: 'since' | 'until', options: TrainOptions): { readonly [Name in typeof name]?: Date } {
  const text = options[name];
  if (text === undefined) return {};
  try {
    return { [name]: isoDate(text) };
  } catch (error) {
    throw error instanceof InvalidArgumentError ? usageError(`--${name}: ${error.message}`) : error;
  }
}

function leadsText({ counts, version }: CollectedLeads): string {
  const leftOut = leftOutText(counts);
  const training = `Training on ${countText(counts.leads)} stored leads, for the fields of version "${version}".`;
  return leftOut === '' ? training : `${training} ${leftOut}`;
}

/** The lines that a training reads: what they are, a lead each, and their number. */
async function* linesOf({ version, manifest, horizonDays, fields, counts, rows }: CollectedLeads) {
  const { unnamed, unnamedByBand, convertedBefore, tooOld, tooYoung, lacking } = counts.leftOut;
  const head = {
    ...{ version, name: manifest.name, horizon_days: horizonDays, columns: fields.columns, features: fields.features },
    missing_tokens: manifest.missing_tokens ?? [],
    counts: {
      ...{ unnamed, unnamed_by_band: unnamedByBand, converted_before: convertedBefore },
      ...{ before_since: tooOld, immature: tooYoung },
      without_fields: lacking.reduce((sum, { leads }) => sum + leads, 0),
    },
  };
  yield `${JSON.stringify(head)}\n`;
  yield* rows.bytes();
  yield `${JSON.stringify({ end: counts.leads })}\n`;
}
