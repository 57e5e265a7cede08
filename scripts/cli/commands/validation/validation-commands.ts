import type { Command } from 'commander';
import type { CliContext } from '../../context/cli-context.js';
import { defineCommand, isoDate, type JsonOption, wholeNumber } from '../define-command.js';
import type { RunValidationOptions } from './run-validation.js';
import type { SimulateOptions } from './simulate-validation.js';

/** Adds `validation run`, `show` and `simulate`. */
export function addValidationCommands(program: Command, context: CliContext): void {
  const validation = program
    .command('validation')
    .description('Validation: grade models by the outcomes of the leads they scored');

  defineCommand(validation, {
    usage: 'run [model]',
    description: 'Grade one model or all models. Running gateways use the new verdict at once',
    examples: ['validation run mdl_7Gx2dQpW0aZrTn5K', 'validation run --as-of 2027-03-01'],
    notes: runNotes.trim(),
  })
    .option(
      '--as-of <date>',
      'grade as of this date (ISO 8601) or date and time with time zone; a grade as of the future is shown but not stored',
      isoDate,
    )
    .option('--rebuild', 'recompute all days, not only the changed ones')
    .action(async (modelId: string | undefined, options: RunValidationOptions) => {
      const { runValidation } = await import('./run-validation.js');
      await context.present(options, runValidation(context, modelId, options));
    });

  defineCommand(validation, {
    usage: 'show <model>',
    description: 'Show the verdict on a model: the figures of the six gates and the conversion rate by score band',
    examples: ['validation show mdl_7Gx2dQpW0aZrTn5K'],
  }).action(async (modelId: string, options: JsonOption) => {
    const { showValidation } = await import('./show-validation.js');
    await context.present(options, showValidation(context, modelId));
  });

  defineCommand(validation, {
    usage: 'simulate',
    description: 'Simulate grading: many models of known quality, and one organisation over a year',
    examples: ['validation simulate', 'validation simulate --no-year --runs 1000'],
    notes: simulateNotes.trim(),
  })
    .option('--runs <years>', 'simulated years per model', wholeNumber({ min: 1, max: 100_000 }), 200)
    .option('--seed <number>', 'the same seed gives the same results', wholeNumber({ min: 0, max: 1e9 }), 1)
    .option('--grades-a-day <number>', 'most grades a day of the many models', wholeNumber({ min: 1, max: 1_440 }), 1)
    .option('--weeks <weeks>', "length of the organisation's year", wholeNumber({ min: 1, max: 104 }), 52)
    .option('--year', 'simulate the year of one organisation (default without --json)')
    .option('--no-year', 'simulate only the many models')
    .action(async (options: SimulateOptions) => {
      const { simulateValidation } = await import('./simulate-validation.js');
      await context.present(options, simulateValidation(context, options));
    });
}

const simulateNotes = `
The year of one organisation runs on temporary databases, a worker pool and
gateways, and takes some minutes. The many models need no servers: the command
draws random counts and grades them with the code of the service.`;

const runNotes = `
The worker pool grades models with news every night, and models with new outcomes
after 15 minutes. This command grades all
versions now, in its own process. With --as-of the horizon of predictions ends at that time.

A grade as of the future is a rehearsal: it is shown but not stored, so it
affects neither API callers nor the policy "block". A verdict as of the past is
stored until the next grade. Its age counts from when it was computed.`;
