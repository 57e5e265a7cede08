import { requestGrading } from '../../../shared/grading-job.js';
import { OrganisationStore } from '../../../shared/store/organisations.js';
import { OutcomeStore } from '../../../shared/store/outcomes.js';
import { readableCount } from '../../terminal/readable-numbers.js';
import { renderFields } from '../../terminal/table.js';
import { type CliContext, lineWidth, wrappedFor } from '../cli-context.js';
import { exitCodes, usageError } from '../cli-error.js';
import { runThroughFile } from '../file-run.js';
import { type ImportReport, importOutcomes } from '../outcomes/import-run.js';
import { mistakeSentences } from '../outcomes/mistakes.js';
import { openInput } from '../score/input-file.js';
import { requireOrganisation } from './organisation-actions.js';

/** What the options of `outcomes import` hold after parsing. */
export interface ImportOutcomesOptions {
  readonly crmId?: string;
  readonly converted?: string;
  readonly at?: string;
  readonly json?: boolean;
}

/** Imports a file of outcomes, and asks the worker pools to grade the organisation's models. */
export async function importOutcomesFile(
  context: CliContext,
  { organisationId, path }: { readonly organisationId: string; readonly path: string },
  options: ImportOutcomesOptions,
): Promise<void> {
  const input = await openInput(path);
  if (input.format !== 'csv') throw usageError(`${input.name} is no CSV`);
  const database = await context.connections.preparedDatabase();
  await requireOrganisation(new OrganisationStore(database), organisationId);
  const shown = { label: 'Importing', unit: 'outcomes', json: options.json };
  const result = await runThroughFile(context, shown, async (signal, listener) => {
    const report = await importOutcomes({
      input,
      store: new OutcomeStore(database),
      organisationId,
      columns: { crmId: options.crmId, converted: options.converted, at: options.at },
      now: new Date(context.clock.now()),
      signal,
      listener,
    });
    const isAsked = report.complete && (await askForGrades(context, organisationId));
    return resultOf(report, { organisationId, fileName: input.name, isAsked, context });
  });
  await context.present(options, Promise.resolve(result));
}

/** Whether Redis took the request. Without it the models are graded at night, which is no failure. */
async function askForGrades({ connections }: CliContext, organisationId: string): Promise<boolean> {
  try {
    await requestGrading(await connections.redis(), organisationId);
    return true;
  } catch {
    return false;
  }
}

function resultOf(
  report: ImportReport,
  of: {
    readonly organisationId: string;
    readonly fileName: string;
    readonly isAsked: boolean;
    readonly context: CliContext;
  },
) {
  const { accepted, converted, refused, mistakes, rows, complete } = report;
  const { stdout } = of.context;
  const problems = mistakeSentences(mistakes, of.fileName);
  const fields = renderFields(
    [
      ['Rows', readableCount(rows)],
      ['Taken', `${readableCount(accepted)} (${readableCount(converted)} converted)`],
      ['Left out', refused === 0 ? undefined : readableCount(refused)],
      [
        'Grades',
        of.isAsked ? 'running worker pools grade the models now' : 'tonight, or by `validation run`',
      ],
      ['', complete ? undefined : 'Interrupted: give the same command again to go on.'],
    ],
    { width: lineWidth(stdout) },
  );
  const listed = problems.map((problem) => wrappedFor(stdout, problem)).join('\n');
  const failed = refused > 0 ? exitCodes.failed : exitCodes.done;
  return {
    document: { org_id: of.organisationId, rows, accepted, converted, refused, problems, complete },
    text: listed === '' ? fields : `${fields}\n\n${listed}`,
    exitCode: complete ? failed : exitCodes.interrupted,
  };
}
