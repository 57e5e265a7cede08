import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { defineCommand, type JsonOption } from '../define-command.js';
import { isoDate, wholeNumber } from '../option-values.js';
import type { RunValidationOptions } from './validation-run.js';
import type { SimulateOptions } from './validation-simulate.js';

/** Adds `validation run`, `show` and `simulate`. */
export function addValidationCommands(program: Command, context: CliContext): void {
  const validation = program
    .command('validation')
    .description('Validation: grade models by what became of the leads they scored');

  defineCommand(validation, {
    usage: 'run [model]',
    description: 'Grade a model, or all; running gateways answer with the new verdict at once',
    examples: ['validation run mdl_7Gx2dQpW0aZrTn5K', 'validation run --as-of 2027-03-01'],
    notes: runNotes.trim(),
  })
    .option(
      '--as-of <date>',
      'grade as if it were then, an ISO 8601 date, or date and time with zone; a later one than now is only shown',
      isoDate,
    )
    .option('--rebuild', 'compute every day anew, also those that are not known to have changed')
    .action(async (modelId: string | undefined, options: RunValidationOptions) => {
      const { runValidation } = await import('./validation-run.js');
      await context.present(options, runValidation(context, modelId, options));
    });

  defineCommand(validation, {
    usage: 'show <model>',
    description: 'Show the verdict on a model: the six gates with their figures, the rate by score band',
    examples: ['validation show mdl_7Gx2dQpW0aZrTn5K'],
  }).action(async (modelId: string, options: JsonOption) => {
    const { showValidation } = await import('./validation-show.js');
    await context.present(options, showValidation(context, modelId));
  });

  defineCommand(validation, {
    usage: 'simulate',
    description: 'Show what the gates do with models of which the truth is known, and with one over a year',
    examples: ['validation simulate', 'validation simulate --no-year --runs 1000'],
    notes: simulateNotes.trim(),
  })
    .option(
      '--runs <years>',
      'years to simulate of each model',
      wholeNumber({ least: 1, most: 100_000 }),
      200,
    )
    .option('--seed <number>', 'the same seed gives the same years', wholeNumber({ least: 0, most: 1e9 }), 1)
    .option(
      '--weeks <weeks>',
      'length of the year that is lived through',
      wholeNumber({ least: 1, most: 104 }),
      52,
    )
    .option('--year', 'live through a year of one organisation (default, but not with --json)')
    .option('--no-year', 'only simulate the years of many models')
    .action(async (options: SimulateOptions) => {
      const { simulateValidation } = await import('./validation-simulate.js');
      await context.present(options, simulateValidation(context, options));
    });
}

const simulateNotes = `
The year of one organisation runs on databases, a worker pool and gateways of
its own, in a temporary directory, and takes some minutes. The years of many
models are counts drawn at random and graded by the same code; no server is
needed for them.`;

const runNotes = `
Models are graded every night by the worker pool; this does it now, in this
process. With --as-of the horizon of predictions is counted to that moment.

As of a moment that has not come yet the grade is a rehearsal: it is shown and
not stored, so that neither API callers nor the policy "block" go by it. As of
an earlier moment the verdict is stored like any other, until the next grade; it
grows old from when it was computed.`;
