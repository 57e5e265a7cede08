import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { defineCommand, type JsonOption } from '../define-command.js';
import { isoDate } from '../option-values.js';
import type { RunValidationOptions } from './validation-run.js';

/** Adds `validation run`, `show` and `simulate`. */
export function addValidationCommands(program: Command, context: CliContext): void {
  const validation = program
    .command('validation')
    .description('Validation: grade models by what became of the leads they scored');

  defineCommand(validation, {
    usage: 'run [model]',
    description: 'Grade a model, or all, now; running gateways answer with the new verdict at once',
    examples: ['validation run mdl_7Gx2dQpW0aZrTn5K', 'validation run --as-of 2027-03-01'],
    notes: runNotes.trim(),
  })
    .option(
      '--as-of <date>',
      'grade as if it were then: an ISO 8601 date, or date and time with zone',
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
}

const runNotes = `
Models are graded every night by the worker pool; this does it now, in this
process. With --as-of the horizon of predictions is counted to that moment; the
verdict grows old from when it was computed.`;
