import type { Command } from 'commander';
import {
  type ConvertedValues,
  usualWords,
  type ValueOptions,
} from '../../../shared/admin/outcomes/converted-values.js';
import { maxDaysAhead } from '../../../shared/contract/dates.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import { type CliContext, lineWidth, wrappedFor } from '../context/cli-context.js';
import { exitCodes, usageError } from '../context/cli-error.js';
import { runThroughFile } from '../context/file-run.js';
import { type ImportReport, importOutcomes } from '../outcomes/import-run.js';
import { mistakeSentences } from '../outcomes/mistakes.js';
import { convertedValues, valueList } from '../outcomes/value-options.js';
import { countText } from '../output/readable-numbers.js';
import { renderFields } from '../output/table.js';
import { wrapText } from '../output/wrap-text.js';
import { openInput } from '../score/input/input-file.js';
import { defineCommand, nonBlank } from './define-command.js';
import { requireOrganisation } from './organisations.js';

/** Adds `outcomes import`. */
export function addOutcomesCommands(program: Command, context: CliContext): void {
  const outcomes = program
    .command('outcomes')
    .description('Outcomes: which leads have converted. Models are graded by them');

  defineCommand(outcomes, {
    usage: 'import <org> <file>',
    description: 'Import a CSV file (or .csv.gz) with one lead per row: whether and when it converted',
    examples: [
      'outcomes import org_4fzyo82mVYHgQ1bT leads.csv',
      'outcomes import org_4fzyo82mVYHgQ1bT won.csv.gz --crm-id Id --converted Won --at Closed',
      'outcomes import org_4fzyo82mVYHgQ1bT deals.csv --converted Stage --won-values "Closed Won"',
    ],
    notes,
  })
    .option('--crm-id <column>', 'column that identifies a lead (default: crm_id)', nonBlank)
    .option('--converted <column>', 'column with 1 or 0, yes or no (default: converted)', nonBlank)
    .option('--won-values <values>', 'values that mean converted, such as "Closed Won,Won"', valueList)
    .option('--lost-values <values>', 'values that mean not converted, such as "Closed Lost,Open"', valueList)
    .option('--others-lost', 'every other value means not converted; needs --won-values')
    .option('--at <column>', 'column with the date of the conversion (default: at, if it exists)', nonBlank)
    .option('--correct-dates', 'replace the dates of known conversions, also by later ones')
    .action(async (organisationId: string, path: string, options: ImportOutcomesOptions) => {
      await importOutcomesFile(context, { organisationId, path }, options);
    });
}

const notes = wrapText(
  [
    'Include every scored lead, also those that have not converted: a model is graded only when nearly all outcomes are known. The latest import of a lead wins, so you can import a file twice and correct outcomes with another import; see below for dates.',
    `The --converted column contains ${usualWords}. 1.0 and 0.0 also work. --won-values replaces the words for yes, and --lost-values those for no. Write a list of values with commas; a value with a comma needs quotes of its own. Case and surrounding space do not count.`,
    'A row with any other value is skipped and reported, so an unknown value never counts as lost. --others-lost changes this, except for empty cells. A named won value that no row has is reported.',
    `Dates are ISO 8601; a date without a time means midnight UTC. Dates are optional: without one, a lead counts as converted from the first import that marks it so. A conversion date may be at most ${maxDaysAhead} days in the future. The dates of unconverted leads are ignored. A lead that converts again keeps the date of its first conversion; --correct-dates replaces it.`,
    'Files are read as `score` reads them: UTF-8 or UTF-16, with the footer of a report passed over. Column names match regardless of case, spaces, invisible characters, _ and -. A file with ids such as 1.20214E+17, which a spreadsheet has shortened, is refused. Repeated ids are reported; the last row of a lead counts, but of several conversions the earliest.',
    'Invalid rows are skipped and reported, and the exit code is then 1. Repeated problems are reported in one line. After an interruption, run the same command again to resume.',
  ].join('\n'),
  80,
);

/** Parsed options of `outcomes import`. */
interface ImportOutcomesOptions extends ValueOptions {
  readonly crmId?: string;
  readonly converted?: string;
  readonly at?: string;
  readonly correctDates?: boolean;
  readonly json?: boolean;
}

/** Imports a file of outcomes and requests a grading of the organisation's models. */
async function importOutcomesFile(
  context: CliContext,
  { organisationId, path }: { readonly organisationId: string; readonly path: string },
  options: ImportOutcomesOptions,
): Promise<void> {
  const values = convertedValues(options);
  const input = await openInput(path);
  if (input.format !== 'csv') throw usageError(`${input.name} is not a CSV file`);
  const database = await context.connections.preparedDatabase();
  await requireOrganisation(new OrganisationStore(database), organisationId);
  const shown = { label: 'Importing', unit: 'outcomes', json: options.json };
  const result = await runThroughFile(context, shown, async (signal, listener) => {
    const report = await importOutcomes({
      input,
      store: new OutcomeStore(database),
      predictions: new PredictionStore(database),
      organisationId,
      columns: { crmId: options.crmId, converted: options.converted, at: options.at },
      values,
      correctsDates: options.correctDates === true,
      now: new Date(context.clock.now()),
      signal,
      listener,
    });
    const isRequested = report.complete && (await requestGrades(context, organisationId));
    return resultOf(report, { organisationId, fileName: input.name, isRequested, values, context });
  });
  await context.present(options, Promise.resolve(result));
}

/** @returns false without Redis, which is not an error: the models are graded at night */
async function requestGrades({ connections }: CliContext, organisationId: string): Promise<boolean> {
  const { requestGrading } = await import('../../../shared/messages/grading-job.js'); // loads BullMQ, 100 ms
  try {
    await requestGrading(await connections.redis(), organisationId);
    return true;
  } catch {
    return false;
  }
}

/** Names the leads that a grade cannot count, with one of each side to compare. */
function unscoredLeads({ unknown = 0, known = 0, unknownExample, scoredExample, complete }: ImportReport): string[] {
  if (unknownExample === undefined || !complete) return [];
  const leads = `${countText(unknown)} of ${countText(known + unknown)} leads have no stored score`;
  const such = `such as ${JSON.stringify(unknownExample)}`;
  const scored =
    scoredExample === undefined
      ? 'No lead of the organisation has one'
      : `A lead with a score is ${JSON.stringify(scoredExample)}`;
  return [`${leads}, ${such}. ${scored}. An outcome counts under the crm_id of a score`];
}

function withoutDate({ withoutDate: leads = 0 }: ImportReport): string[] {
  if (leads === 0) return [];
  const rows = leads === 1 ? '1 converted lead has' : `${countText(leads)} converted leads have`;
  return [`${rows} no date. A conversion without a date counts from its first import`];
}

function resultOf(
  report: ImportReport,
  of: {
    readonly organisationId: string;
    readonly fileName: string;
    readonly isRequested: boolean;
    readonly values: ConvertedValues;
    readonly context: CliContext;
  },
) {
  const { accepted, converted, refused, mistakes, rows, complete, repeated, known = 0, unknown = 0 } = report;
  const { unknownExample, scoredExample } = report;
  const { stdout } = of.context;
  const problems = mistakeSentences(mistakes, of.fileName);
  const unseen = complete ? of.values.unseen(report.won ?? []) : [];
  const notes = [
    ...unseen.map((value) => `No imported row has the value ${JSON.stringify(value)} of --won-values`),
    ...withoutDate(report),
    ...report.notices,
  ];
  const fields = renderFields(
    [
      ['Rows', countText(rows)],
      ['Imported', `${countText(accepted)} (${countText(converted)} converted)`],
      ['Leads', accepted === 0 ? undefined : `${countText(known)} with a score, ${countText(unknown)} without`],
      ['Skipped', refused === 0 ? undefined : countText(refused)],
      ['Grading', of.isRequested ? 'requested from the running worker pools' : 'tonight, or with `validation run`'],
      ['', complete ? undefined : 'Interrupted. Run the same command again to resume.'],
    ],
    { width: lineWidth(stdout) },
  );
  const listed = [...unscoredLeads(report), ...notes, ...problems]
    .map((problem) => wrappedFor(stdout, problem))
    .join('\n');
  const failed = refused > 0 ? exitCodes.failed : exitCodes.done;
  return {
    document: {
      org_id: of.organisationId,
      rows,
      accepted,
      converted,
      refused,
      known,
      unknown,
      repeated,
      ...(unknownExample === undefined ? {} : { unknown_example: unknownExample }),
      ...(scoredExample === undefined ? {} : { scored_example: scoredExample }),
      problems,
      ...(notes.length === 0 ? {} : { notes }),
      complete,
    },
    text: listed === '' ? fields : `${fields}\n\n${listed}`,
    exitCode: complete ? failed : exitCodes.interrupted,
  };
}
