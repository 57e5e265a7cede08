import { type Command, Option } from 'commander';
import { storedLimits } from '../../../../shared/store/jobs/job-options.js';
import type { CliContext } from '../../context/cli-context.js';
import { defineCommand, type JsonOption, nonBlank, onOrOff, plainText, wholeNumber } from '../define-command.js';
import type { ImportOptions } from './import-model.js';
import type { PromoteOptions, RollbackOptions } from './promote-model.js';
import type { CandidateOptions, DeleteModelOptions, SetModelOptions } from './set-model.js';
import type { CoverageOptions } from './show-coverage.js';

/** Adds the commands of `model`. */
export function addModelCommands(program: Command, context: CliContext): void {
  const models = program
    .command('model')
    .description('Models: import, check, set, candidate, compare, promote, rollback, list, show, coverage, delete');
  addImport(models, context);
  addCheck(models, context);
  addSet(models, context);
  addCandidate(models, context);

  defineCommand(models, {
    usage: 'compare <model>',
    description: 'Compare the candidate of a model with the version that scores calls, over the same leads',
    examples: ['model compare mdl_7Gx2dQpW0aZrTn5K'],
    notes: 'The candidate is compared after each grade. Values are followed by 2.5 standard errors on each side.',
  }).action(async (modelId: string, options: JsonOption) => {
    const { compareModel } = await import('./compare-model.js');
    await context.present(options, compareModel(context, modelId));
  });
  addPromotion(models, context);

  defineCommand(models, {
    usage: 'list <org>',
    description: "List an organisation's models, oldest first",
    examples: ['model list org_4fzyo82mVYHgQ1bT'],
  }).action(async (organisationId: string, options: JsonOption) => {
    const { listModels } = await import('./show-model.js');
    await context.present(options, listModels(context, organisationId));
  });

  defineCommand(models, {
    usage: 'show <model>',
    description: 'Show a model: versions, validation, coverage and fields',
    examples: ['model show mdl_7Gx2dQpW0aZrTn5K'],
  }).action(async (modelId: string, options: JsonOption) => {
    const { showModel } = await import('./show-model.js');
    await context.present(options, showModel(context, modelId));
  });

  addCoverage(models, context);

  defineCommand(models, {
    usage: 'delete <model>',
    description: 'Delete a model permanently: calls to it get 404. Its past scores are kept for known records',
    examples: ['model delete mdl_7Gx2dQpW0aZrTn5K'],
    notes: 'Asks for confirmation if standard input is a terminal.',
  })
    .option('--yes', 'do not ask for confirmation')
    .action(async (modelId: string, options: DeleteModelOptions) => {
      const { deleteModel } = await import('./set-model.js');
      await context.present(options, deleteModel(context, modelId, options));
    });
}

function addImport(models: Command, context: CliContext): void {
  defineCommand(models, {
    usage: 'import <bundle>',
    description: 'Check a bundle (folder or .tar.gz) and store it as a new model or a new version of a model',
    examples: [
      'model import ./bundle --org org_4fzyo82mVYHgQ1bT',
      'model import ./v2.tar.gz --org org_4fzyo82mVYHgQ1bT --model mdl_7Gx2dQpW0aZrTn5K --candidate',
    ],
    notes:
      'Nothing is stored if the bundle is invalid. If a model of the organisation has the\nsame bundle, the command names it, and asks for --model or --new.',
  })
    .requiredOption('--org <org>', 'the organisation that owns the model')
    .option('--model <model>', 'add the bundle as a version of this model, with --candidate or --serve')
    .option('--candidate', 'with --model: store the version as a candidate, which scores no calls')
    .option('--serve', 'with --model: let the version score calls at once')
    .option('--override', 'let the version score although the deploy policy would block it; needs --reason')
    .option('--reason <reason>', 'reason for the override; stored with your user name and the time', plainText)
    .option('--new', 'make a new model although a model of the organisation has the same bundle')
    .option('--live-api <on|off>', 'whether calls may use the model; default for a new model: on', onOrOff)
    .action(async (path: string, options: ImportOptions) => {
      const { importModel } = await import('./import-model.js');
      await context.present(options, importModel(context, path, options));
    });
}

function addCandidate(models: Command, context: CliContext): void {
  defineCommand(models, {
    usage: 'candidate <model> [version]',
    description: 'Make a stored version the candidate of a model, or end its candidacy',
    examples: ['model candidate mdl_7Gx2dQpW0aZrTn5K 2026.12.0', 'model candidate mdl_7Gx2dQpW0aZrTn5K --drop'],
    notes:
      'A candidate scores no calls. A runner of bulk jobs scores recorded leads with it, and\n`model show` says how far it is. ' +
      '`model compare MODEL` compares it, and `model promote MODEL`\nlets it score calls.',
  })
    .option('--drop', 'end the candidacy; the version stays stored')
    .action(async (modelId: string, version: string | undefined, options: CandidateOptions) => {
      const { changeCandidate } = await import('./set-model.js');
      await context.present(options, changeCandidate(context, modelId, version, options));
    });
}

function addPromotion(models: Command, context: CliContext): void {
  defineCommand(models, {
    usage: 'promote <model>',
    description: 'Let the candidate of a model score calls. `model rollback` restores the version before',
    examples: [
      'model promote mdl_7Gx2dQpW0aZrTn5K',
      'model promote mdl_7Gx2dQpW0aZrTn5K --current 2026.11.0 --candidate 2026.12.0 --yes',
    ],
    notes:
      'Asks for confirmation if standard input is a terminal. A candidate that is worse, in quarantine, not compared\nyet, or whose run failed needs --force. One that the deploy policy would block needs --override.',
  })
    .option('--current <version>', 'refuse if another version scores calls', nonBlank)
    .option('--candidate <version>', 'refuse if another version is the candidate', nonBlank)
    .option('--force', 'promote in spite of the run, the comparison or a quarantine; needs --reason')
    .option('--override', 'let the version score although the deploy policy would block it; needs --reason')
    .option('--reason <reason>', 'reason for --force or --override; stored with your user name', plainText)
    .option('--yes', 'do not ask for confirmation')
    .action(async (modelId: string, options: PromoteOptions) => {
      const { promoteModel } = await import('./promote-model.js');
      await context.present(options, promoteModel(context, modelId, options));
    });

  defineCommand(models, {
    usage: 'rollback <model>',
    description: 'Let the version score calls again that did before the current one, with the override that it had',
    examples: ['model rollback mdl_7Gx2dQpW0aZrTn5K'],
    notes: 'Asks for confirmation if standard input is a terminal. `model show` names the version before.',
  })
    .option('--current <version>', 'refuse if another version scores calls', nonBlank)
    .option('--previous <version>', 'refuse if another version is the one before', nonBlank)
    .option('--override', 'let the version score although the deploy policy would block it; needs --reason')
    .option('--reason <reason>', 'reason for the override; stored with your user name and the time', plainText)
    .option('--yes', 'do not ask for confirmation')
    .action(async (modelId: string, options: RollbackOptions) => {
      const { rollBack } = await import('./promote-model.js');
      await context.present(options, rollBack(context, modelId, options));
    });
}

function addCoverage(models: Command, context: CliContext): void {
  defineCommand(models, {
    usage: 'coverage <model>',
    description:
      "Show how a model's fields were read in live calls and bulk jobs: sent, unreadable, not seen in training",
    examples: ['model coverage mdl_7Gx2dQpW0aZrTn5K', 'model coverage mdl_7Gx2dQpW0aZrTn5K --days 30'],
    notes: 'The counts are up to a minute old. A field that needs attention is named below the table.',
  })
    .option('--days <days>', 'days (UTC), today included; 7 by default', wholeNumber({ min: 1, max: 90 }))
    .option('--version <version>', 'version of the model; by default the current one', nonBlank)
    .action(async (modelId: string, options: CoverageOptions) => {
      const { showCoverage } = await import('./show-coverage.js');
      await context.present(options, showCoverage(context, modelId, options));
    });
}

function addCheck(models: Command, context: CliContext): void {
  defineCommand(models, {
    usage: 'check <bundles...>',
    description: 'Check bundles and score their golden records with the code of the service. Stores nothing',
    examples: ['model check ./bundle', 'model check bundles/*'],
    notes: 'The exit code is 1 if a bundle is invalid or a result differs from its golden record.',
  }).action(async (paths: string[], options: JsonOption) => {
    const { checkModels } = await import('./check-models.js');
    await context.present(options, checkModels(context, paths));
  });
}

const setNotes = `
--rescore promotion creates a job of stored leads (docs/bulk.md) once another
version scores calls; --rescore nightly on each day (UTC). It begins with the
next version or day. The leads were sent in the last 90 days. Each one counts.
The setting ends when its key is revoked, expires or loses a scope.`;

function addSet(models: Command, context: CliContext): void {
  defineCommand(models, {
    usage: 'set <model>',
    description:
      'Turn the Live API on or off, choose the active version, rename, override the policy, score leads again',
    examples: [
      'model set mdl_7Gx2dQpW0aZrTn5K --live-api off',
      'model set mdl_7Gx2dQpW0aZrTn5K --override on --reason "approved by the sales board"',
      'model set mdl_7Gx2dQpW0aZrTn5K --rescore promotion --key key_9bTqW2xYz0aLmN4p --at-most 50000',
    ],
    notes: setNotes.trim(),
  })
    .option('--live-api <on|off>', 'whether calls may use the model', onOrOff)
    .option('--version <version>', 'version to activate; `model show` lists the versions', nonBlank)
    .option('--name <name>', 'name for people', plainText)
    .option('--override <on|off>', 'let this version score without passed validation', onOrOff)
    .option('--reason <reason>', 'reason for the override; stored with your user name and the time', plainText)
    .addOption(
      new Option('--rescore <when>', 'score stored leads again by themselves').choices(['promotion', 'nightly', 'off']),
    )
    .option('--key <key>', 'with --rescore: id of the live key under which these leads count', nonBlank)
    .option(
      '--at-most <leads>',
      'with --rescore: leads of one job, those that were sent last',
      wholeNumber({ min: 1, max: storedLimits.rows }),
    )
    .action(async (modelId: string, options: SetModelOptions) => {
      const { setModel } = await import('./set-model.js');
      await context.present(options, setModel(context, modelId, options));
    });
}
