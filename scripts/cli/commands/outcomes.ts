import type { Command } from 'commander';
import { usualWords, type ValueOptions } from '../../../shared/admin/outcomes/converted-values.js';
import { databaseSink } from '../../../shared/admin/outcomes/database-sink.js';
import { type ImportReport, importOutcomes, type OutcomeSink } from '../../../shared/admin/outcomes/import-outcomes.js';
import { mistakeSentences } from '../../../shared/admin/outcomes/mistakes.js';
import { maxDaysAhead } from '../../../shared/contract/dates.js';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import { PredictionStore } from '../../../shared/store/calls/predictions.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import { httpConnections } from '../calls/http-connections.js';
import { realWait, type WaitMeans } from '../calls/patience.js';
import { addAccessOptions, readKey, readUrl } from '../context/api-access.js';
import { type CliContext, lineWidth, wrappedFor } from '../context/cli-context.js';
import { exitCodes, usageError } from '../context/cli-error.js';
import { runThroughFile } from '../context/file-run.js';
import { recordCommand } from '../context/perform.js';
import { requireOrganisation } from '../context/require-organisation.js';
import { type InputFile, namedFault, openInput } from '../files/input-file.js';
import { ServiceSink } from '../outcomes/service-sink.js';
import { convertedValues, optionText, valueList } from '../outcomes/value-options.js';
import { countText } from '../output/readable-numbers.js';
import { renderFields } from '../output/table.js';
import { wrapText } from '../output/wrap-text.js';
import { defineCommand, nonBlank } from './define-command.js';

/** Adds `outcomes import`. */
export function addOutcomesCommands(program: Command, context: CliContext): void {
  const outcomes = program
    .command('outcomes')
    .description('Outcomes: which leads have converted. Models are graded by them');

  const command = defineCommand(outcomes, {
    usage: 'import <file-or-org> [file]',
    description:
      'Import a CSV file (or .csv.gz) with one lead per row: whether and when it converted. With --key through the service, ' +
      'with an organisation into the database',
    examples: [
      'outcomes import --key @key.txt leads.csv',
      'outcomes import --key @key.txt deals.csv --converted Stage --won-values "Closed Won"',
      'outcomes import org_4fzyo82mVYHgQ1bT won.csv.gz --crm-id Id --converted Won --at Closed',
    ],
    notes,
  });
  addAccessOptions(command, context.config, { keyIsRequired: false })
    .option('--crm-id <column>', 'column that identifies a lead (default: crm_id)', nonBlank)
    .option('--converted <column>', 'column with 1 or 0, yes or no (default: converted)', nonBlank)
    .option('--won-values <values>', 'values that mean converted, such as "Closed Won,Won"', valueList)
    .option('--lost-values <values>', 'values that mean not converted, such as "Closed Lost,Open"', valueList)
    .option('--others-lost', 'every other value means not converted; needs --won-values')
    .option('--at <column>', 'column with the date of the conversion (default: at, if it exists)', nonBlank)
    .option('--correct-dates', 'replace the dates of known conversions, also by later ones')
    .action(async (first: string, second: string | undefined, options: ImportOutcomesOptions) => {
      await importOutcomesFile(context, targetOf(first, second, options), options);
    });
}

const notes = wrapText(
  [
    'With --key, a live key of the organisation, the service stores the outcomes within the limit of the plan. With an organisation, the command writes to the database, and only its operator can.',
    'Include every scored lead, also those that have not converted: a model is graded only when nearly all outcomes are known. The latest import of a lead wins, so you can import a file twice and correct outcomes with another import; see below for dates.',
    `The --converted column contains ${usualWords}. 1.0 and 0.0 also work. --won-values replaces the words for yes, and --lost-values those for no. Write a list of values with commas; a value with a comma needs quotes of its own. Case and surrounding space do not count.`,
    'A row with any other value is skipped and reported, so an unknown value never counts as lost. --others-lost changes this, except for empty cells. A named won value that no row has is reported.',
    `Dates are ISO 8601; a date without a time means midnight UTC. Dates are optional: without one, a lead counts as converted from the first import that marks it so. A conversion date may be at most ${maxDaysAhead} days in the future. The dates of unconverted leads are ignored. A lead that converts again keeps the date of its first conversion; --correct-dates replaces it.`,
    'Files are read as `score` reads them: UTF-8 or UTF-16, with the footer of a report passed over. Column names match regardless of case, spaces, invisible characters, _ and -. A file with ids such as 1.20214E+17, which a spreadsheet has shortened, is refused. Repeated ids are reported; the last row of a lead counts, but of several conversions the earliest.',
    'Invalid rows are skipped and reported, and the exit code is then 1. Repeated problems are reported in one line. After an interruption, run the same command again: rows that are stored change nothing.',
  ].join('\n'),
  80,
);

/** Parsed options of `outcomes import`. */
interface ImportOutcomesOptions extends ValueOptions {
  readonly key?: string;
  readonly url: string;
  readonly crmId?: string;
  readonly converted?: string;
  readonly at?: string;
  readonly correctDates?: boolean;
  readonly json?: boolean;
}

/** The file, and the organisation whose outcomes are written to the database. */
interface ImportTarget {
  readonly path: string;
  readonly organisationId: string | undefined;
}

function targetOf(first: string, second: string | undefined, { key }: ImportOutcomesOptions): ImportTarget {
  if (key === undefined && second === undefined)
    throw usageError('Give --key and a file, or an organisation and a file to write to the database');
  if (key !== undefined && second !== undefined)
    throw usageError(`The key names the organisation: leave out ${first}, or --key to write to the database`);
  return second === undefined ? { path: first, organisationId: undefined } : { path: second, organisationId: first };
}

/** Where the outcomes go, and what follows. */
interface Destination {
  readonly sink: OutcomeSink;
  readonly document: Readonly<Record<string, string>>;
  /** Asks for a grade. @returns when it comes */
  readonly grade: () => Promise<string>;
}

/** Imports a file of outcomes. */
async function importOutcomesFile(
  context: CliContext,
  { path, organisationId }: ImportTarget,
  options: ImportOutcomesOptions,
): Promise<void> {
  const values = convertedValues(options);
  const file = await openInput(path);
  if (file.format === 'jsonl') throw usageError(`${file.name} is not a CSV file`);
  const now = new Date(context.clock.now());
  const shown = { label: 'Importing', unit: 'outcomes', json: options.json };
  const result = await runThroughFile(context, shown, async (signal, listener) => {
    const destination =
      organisationId === undefined
        ? await throughService(options, { signal, onWait: listener.waiting })
        : await intoDatabase(context, organisationId, now);
    listener.started();
    const report = await importOutcomes({
      pieces: file.pieces(),
      sink: destination.sink,
      columns: { crmId: options.crmId, converted: options.converted, at: options.at },
      values,
      correctsDates: options.correctDates === true,
      now,
      signal,
      optionText,
      onProgress: (done, endByte) =>
        listener.progress({ done, fraction: Math.min(1, endByte / Math.max(1, file.inflatedBytes())) }),
    }).catch((error: unknown) => {
      throw namedFault(error, file);
    });
    if (organisationId !== undefined) {
      const { rows, accepted, converted } = report;
      await recordCommand(context, 'outcomes.import', { organisationId, after: { rows, accepted, converted } });
    }
    const grading = report.complete ? await destination.grade() : undefined;
    return resultOf(report, { file, grading, document: destination.document, context });
  });
  await context.present(options, Promise.resolve(result));
}

async function throughService(
  options: ImportOutcomesOptions,
  means: Pick<WaitMeans, 'signal' | 'onWait'>,
): Promise<Destination> {
  const sink = new ServiceSink({
    ...means,
    wait: realWait,
    now: () => performance.now(),
    send: httpConnections({ connections: 1 }).send,
    baseUrl: readUrl(options.url),
    apiKey: await readKey(options.key ?? ''),
    correctsDates: options.correctDates === true,
  });
  return {
    sink,
    document: {},
    grade: async () => (sink.isTest ? 'none: a test key stores nothing' : 'by the service, within half an hour'),
  };
}

/** @throws CliError when the organisation does not exist */
async function intoDatabase(context: CliContext, organisationId: string, now: Date): Promise<Destination> {
  const database = await context.connections.preparedDatabase();
  await requireOrganisation(new OrganisationStore(database), organisationId);
  const sink = databaseSink({
    organisationId,
    store: new OutcomeStore(database),
    predictions: new PredictionStore(database),
    receivedAt: now,
    batchRows: 1_000,
  });
  return {
    sink,
    document: { org_id: organisationId },
    grade: async () =>
      (await requestGrades(context, organisationId))
        ? 'requested from the running worker pools'
        : 'tonight, or with `validation run`',
  };
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
function unscoredLeads({ unknown, known, unknownExample, scoredExample, complete }: ImportReport): string[] {
  if (unknownExample === undefined || !complete) return [];
  const leads = `${countText(unknown)} of ${countText(known + unknown)} leads have no stored score`;
  const such = `such as ${JSON.stringify(unknownExample)}`;
  const scored =
    scoredExample === undefined
      ? 'No lead of the organisation has one'
      : `A lead with a score is ${JSON.stringify(scoredExample)}`;
  return [`${leads}, ${such}. ${scored}. An outcome counts under the crm_id of a score`];
}

function resultOf(
  report: ImportReport,
  of: {
    readonly file: InputFile;
    /** When the grade comes; undefined after an interruption. */
    readonly grading: string | undefined;
    readonly document: Readonly<Record<string, string>>;
    readonly context: CliContext;
  },
) {
  const { accepted, converted, refused, mistakes, rows, complete, repeated, known, unknown, notes } = report;
  const { unknownExample, scoredExample } = report;
  const { stdout } = of.context;
  const problems = mistakeSentences(mistakes, of.file.name);
  const fields = renderFields(
    [
      ['Rows', countText(rows)],
      ['Imported', `${countText(accepted)} (${countText(converted)} converted)`],
      ['Leads', accepted === 0 ? undefined : `${countText(known)} with a score, ${countText(unknown)} without`],
      ['Skipped', refused === 0 ? undefined : countText(refused)],
      ['Grading', of.grading],
      ['', complete ? undefined : 'Interrupted. Run the same command again: rows that are stored change nothing.'],
    ],
    { width: lineWidth(stdout) },
  );
  const listed = [...unscoredLeads(report), ...notes, ...problems]
    .map((problem) => wrappedFor(stdout, problem))
    .join('\n');
  const failed = refused > 0 ? exitCodes.failed : exitCodes.done;
  return {
    document: {
      ...of.document,
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
