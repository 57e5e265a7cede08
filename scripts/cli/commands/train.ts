import { type Command, Option } from 'commander';
import type { CliContext, CommandResult } from '../context/cli-context.js';
import { usageError } from '../context/cli-error.js';
import type { TrainOptions } from '../train/train-options.js';
import { defineCommand, nonBlank, plainText, wholeNumber } from './define-command.js';

/** Adds `train`. */
export function addTrainCommand(program: Command, context: CliContext): void {
  const command = defineCommand(program, {
    usage: 'train [file]',
    description:
      'Train a model on a CSV file of won and lost leads, or on the stored leads of a model. Writes its bundle and a report',
    examples: [
      'train leads.csv --converted Won --at Created --org org_4fzyo82mVYHgQ1bT',
      'train --from org_4fzyo82mVYHgQ1bT --model mdl_7Gx2dQpW0aZrTn5K',
      'train deals.csv --converted Stage --won-values "Closed Won" --lost-values "Closed Lost"',
    ],
    notes: notes.trim(),
  });
  command
    .option('--converted <column>', 'column that says whether the lead converted; a file needs it', nonBlank)
    .option('--won-values <values>', 'values that mean converted, such as "Closed Won,Won"', several)
    .option('--lost-values <values>', 'values that mean not converted, such as "Closed Lost"', several)
    .option('--others-lost', 'every other value means not converted; needs --won-values')
    .option('--at <column-or-date>', 'when each row was as it is: a column, or one date for all', nonBlank)
    .option(
      '--converted-at <column>',
      'column with the date of the conversion; later ones than the horizon do not count',
      nonBlank,
    )
    .option(
      '--horizon <days>',
      'days within which a conversion counts (default: 90)',
      wholeNumber({ min: 1, max: 36_500 }),
    )
    .option('--since <date>', 'leave out rows with an earlier --at', nonBlank)
    .option('--until <date>', 'outcomes are known up to this date (default: the newest in the file)', nonBlank)
    .option('--id <column>', 'column that identifies a lead: it counts once', nonBlank)
    .option('--group <column>', 'column of what belongs together, such as the account', nonBlank)
    .option('--skip <column>', 'leave this column out; may be repeated', several)
    .option('--keep <column>', 'this column was known when leads were scored; may be repeated', several)
    .option('--missing <values>', 'cells that mean missing, such as "Select,?"', several)
    .addOption(new Option('--date-order <order>', 'how dates with slashes are read').choices(['dmy', 'mdy']))
    .option('--encoding <name>', 'encoding of the file, such as windows-1252', nonBlank)
    .option('--budget <seconds>', 'time for the search (default: 60)', wholeNumber({ min: 1, max: 86_400 }))
    .option('--out <folder>', 'folder of the result (default: FILE-model)', nonBlank)
    .option('--replace', 'replace the folder of an earlier training')
    .option('--name <name>', 'name of the score, for people (default: Lead conversion)', plainText)
    .option('--version <version>', 'version of the model (default: date and digest)', nonBlank)
    .option('--org <org>', 'import the bundle as a new model of this organisation', nonBlank)
    .option('--from <org>', 'train on the stored leads of --model, for a candidate', nonBlank)
    .option('--model <model>', 'with --from: the model whose fields and leads are trained on', nonBlank)
    .option('--python <path>', 'use this Python and its packages', nonBlank)
    .option('--yes', 'keep all columns, also those that leads perhaps got after their outcome')
    .action(async (path: string | undefined, options: TrainOptions) => {
      await context.present(options, trained(context, path, options));
    });
}

async function trained(context: CliContext, path: string | undefined, options: TrainOptions): Promise<CommandResult> {
  if (path === undefined) {
    const { trainOnStored } = await import('../train/train-stored.js');
    return await trainOnStored(context, options);
  }
  if (options.from !== undefined) throw usageError('Give a file, or --from with the organisation of stored leads');
  const { trainOnFile } = await import('../train/train-file.js');
  return await trainOnFile(context, path, options);
}

/** Values of a repeated option. `runCli` parses options twice, and commander keeps the first result. */
const several = (text: string, before: readonly string[] = []): string[] => [...new Set([...before, nonBlank(text)])];

const notes = `
The file has one lead a row, with the fields that the CRM sends, and the outcome.
The command chooses columns and parameters, holds a fifth of the leads out, and
measures the model on them. FOLDER/report.html shows the result. The folder is
written as a whole, or not at all: Ctrl-C leaves nothing.

A column that was filled only after the outcome, such as a reason for the loss,
makes a model that is worthless later. The command shows how each column ranks
leads alone. It asks about suspects in a terminal. Without one it refuses them:
name each with --skip or --keep. Read the table also when nothing is suspect.

With --from, each lead counts as it was at its first score, if that was within a
year, with the outcome that was reported since. Nothing is imported: the command
prints how to make the bundle a candidate. Also, --skip FIELD brings leads back
that an earlier version scored without this field.

The command needs Python 3.10 or later. It makes an environment of 410 MB once.
Without --org, import the bundle with \`model import\`.`;
