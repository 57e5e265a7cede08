import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { defineCommand, type JsonOption } from '../define-command.js';
import { nonBlank, onOrOff, plainText } from '../option-values.js';
import type { ImportOptions } from './model-import.js';
import type { DeleteModelOptions, SetModelOptions } from './model-set.js';

/** Adds `model import`, `check`, `set`, `list`, `show` and `delete`. */
export function addModelCommands(program: Command, context: CliContext): void {
  const models = program.command('model').description('Models: import, check, set, list, show, delete');
  addImport(models, context);
  addCheck(models, context);
  addSet(models, context);

  defineCommand(models, {
    usage: 'list <org>',
    description: "List an organisation's models, oldest first",
    examples: ['model list org_4fzyo82mVYHgQ1bT'],
  }).action(async (organisationId: string, options: JsonOption) => {
    const { listModels } = await import('./model-show.js');
    await context.present(options, listModels(context, organisationId));
  });

  defineCommand(models, {
    usage: 'show <model>',
    description: 'Show a model: versions, validation, the fields that it knows',
    examples: ['model show mdl_7Gx2dQpW0aZrTn5K'],
  }).action(async (modelId: string, options: JsonOption) => {
    const { showModel } = await import('./model-show.js');
    await context.present(options, showModel(context, modelId));
  });

  defineCommand(models, {
    usage: 'delete <model>',
    description: 'Delete a model for ever: calls with it get 404; its past scores still tell known records',
    examples: ['model delete mdl_7Gx2dQpW0aZrTn5K'],
    notes: 'Asks before it does so when standard input is a terminal; without one it does not ask.',
  })
    .option('--yes', 'do not ask')
    .action(async (modelId: string, options: DeleteModelOptions) => {
      const { deleteModel } = await import('./model-set.js');
      await context.present(options, deleteModel(context, modelId, options));
    });
}

function addImport(models: Command, context: CliContext): void {
  defineCommand(models, {
    usage: 'import <bundle>',
    description: 'Check a bundle (directory or .tar.gz) and store it as a model, or as a new version of one',
    examples: [
      'model import ./bundle --org org_4fzyo82mVYHgQ1bT',
      'model import ./bundle-v2.tar.gz --org org_4fzyo82mVYHgQ1bT --model mdl_7Gx2dQpW0aZrTn5K',
    ],
    notes: 'A bundle that is not in order is refused as a whole: nothing is stored.',
  })
    .requiredOption('--org <org>', 'whose model it is')
    .option('--model <model>', 'add a version to this model and make it the one that scores')
    .option('--live-api <on|off>', 'whether calls may use it; a new model: on', onOrOff)
    .action(async (path: string, options: ImportOptions) => {
      const { importModel } = await import('./model-import.js');
      await context.present(options, importModel(context, path, options));
    });
}

function addCheck(models: Command, context: CliContext): void {
  defineCommand(models, {
    usage: 'check <bundles...>',
    description:
      'Check bundles and score their golden records with the code that serves calls; stores nothing',
    examples: ['model check ./bundle', 'model check bundles/*'],
    notes: 'Exit code 1 when a bundle is not in order or an answer differs from what its author expects.',
  }).action(async (paths: string[], options: JsonOption) => {
    const { checkModels } = await import('./model-check.js');
    await context.present(options, checkModels(context, paths));
  });
}

function addSet(models: Command, context: CliContext): void {
  defineCommand(models, {
    usage: 'set <model>',
    description: 'Turn the Live API on or off, choose the version that scores, override the deploy policy',
    examples: [
      'model set mdl_7Gx2dQpW0aZrTn5K --live-api off',
      'model set mdl_7Gx2dQpW0aZrTn5K --override on --reason "approved by the sales board"',
    ],
  })
    .option('--live-api <on|off>', 'whether calls may use it', onOrOff)
    .option('--version <version>', 'the version that scores; `model show` lists them', nonBlank)
    .option('--override <on|off>', 'let it score although it has not passed validation', onOrOff)
    .option('--reason <reason>', 'why it is overridden; kept with your user name and the time', plainText)
    .action(async (modelId: string, options: SetModelOptions) => {
      const { setModel } = await import('./model-set.js');
      await context.present(options, setModel(context, modelId, options));
    });
}
