import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import { importModel } from '../commands/models/import-model.js';
import type { CliContext, CommandResult } from '../context/cli-context.js';
import { CliError } from '../context/cli-error.js';
import { untilInterrupted } from '../context/file-run.js';
import { requireOrganisation } from '../context/require-organisation.js';
import { train } from './train-model.js';
import { checkFileOptions, type TrainOptions, trainingWords } from './train-options.js';
import type { FinishedTraining } from './training-messages.js';
import { trainingText } from './training-text.js';

/**
 * Trains a model on a file of past leads. With `--org`, the bundle becomes a model of the organisation.
 * @throws CliError of the training; after an interruption nothing is written
 */
export async function trainOnFile(context: CliContext, path: string, options: TrainOptions): Promise<CommandResult> {
  checkFileOptions(options);
  // Before minutes of training.
  if (options.org !== undefined)
    await requireOrganisation(new OrganisationStore(await context.connections.database()), options.org);
  const words = [path, ...trainingWords(options, context)];
  const trained = await untilInterrupted((signal) => train(context, options, { words, signal }));
  const { folder, bundle, report, training } = trained;
  const document = { folder, bundle, report, training };
  if (options.org === undefined) {
    const next = `Import it: npx leadscore model import ${bundle} --org ORG`;
    return { document, text: `${trainingText(trained, context.stdout)}\n\n${next}` };
  }
  const imported = await importModel(context, bundle, { org: options.org }).catch((error: unknown) => {
    throw notImported(error, trained, options.org ?? '');
  });
  const { model_id } = imported.document as { readonly model_id: string };
  return {
    document: { ...document, model_id, imported: imported.document },
    text: `${trainingText(trained, context.stdout)}\n\n${imported.text}`,
  };
}

/** The training took minutes, and its bundle is there. */
function notImported(error: unknown, { bundle }: FinishedTraining, organisation: string): unknown {
  if (!(error instanceof CliError)) return error;
  const { message, code, details, exitCode } = error;
  const how = `The model is in ${bundle}, but it was not imported (npx leadscore model import ${bundle} --org ${organisation})`;
  return new CliError(`${how}: ${message}`, { code, exitCode, details: { ...details, bundle } });
}
