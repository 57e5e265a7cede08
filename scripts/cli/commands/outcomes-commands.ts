import type { Command } from 'commander';
import { mostDaysAhead } from '../../../shared/outcome-date.js';
import { wrapText } from '../../terminal/wrap-text.js';
import type { CliContext } from '../cli-context.js';
import { defineCommand } from '../define-command.js';
import { nonBlank } from '../option-values.js';
import { convertedWords } from '../outcomes/converted-words.js';
import type { ImportOutcomesOptions } from './outcomes-import.js';

/** Adds `outcomes import`. */
export function addOutcomesCommands(program: Command, context: CliContext): void {
  const outcomes = program
    .command('outcomes')
    .description('Outcomes: what became of leads, by which models are graded');

  defineCommand(outcomes, {
    usage: 'import <org> <file>',
    description: 'Import a CSV (.gz too) that says of each lead whether it has converted, and when',
    examples: [
      'outcomes import org_4fzyo82mVYHgQ1bT leads.csv',
      'outcomes import org_4fzyo82mVYHgQ1bT won.csv.gz --crm-id Id --converted Won --at Closed',
    ],
    notes,
  })
    .option('--crm-id <column>', 'column that identifies a lead (default: crm_id)', nonBlank)
    .option('--converted <column>', 'column that says 1 or 0, yes or no (default: converted)', nonBlank)
    .option(
      '--at <column>',
      'column with the date of the conversion (default: at, if there is one)',
      nonBlank,
    )
    .action(async (organisationId: string, path: string, options: ImportOutcomesOptions) => {
      const { importOutcomesFile } = await import('./outcomes-import.js');
      await importOutcomesFile(context, { organisationId, path }, options);
    });
}

const notes = wrapText(
  [
    'Name every lead that was scored, also those that have not converted: models are graded only when nearly all are known. The newest word on a lead counts, so the same file may be imported again, and a correction is just another import.',
    `The column of --converted says ${convertedWords}, in upper or lower case; 1.0 and 0.0 will do.`,
    `Dates are ISO 8601, midnight UTC without a time; without a column of dates a lead counts as converted when an import first says so. A conversion may lie at most ${mostDaysAhead} days ahead.`,
    'A row that is wrong is left out and told, many with the same mistake in one line, and the exit code is then 1. Stopped, it goes on when the same command is given again.',
  ].join('\n'),
  80,
);
