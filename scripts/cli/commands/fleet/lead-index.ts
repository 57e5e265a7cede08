import type { Command } from 'commander';
import type { LeadIndexState } from '../../../../shared/store/lead-index/move-lead-index.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { CliError } from '../../context/cli-error.js';
import { countText } from '../../output/readable-numbers.js';
import { defineCommand, type JsonOption } from '../define-command.js';

interface LeadIndexOptions extends JsonOption {
  readonly apply?: boolean;
}

/** Adds `lead-index`. */
export function addLeadIndexCommand(program: Command, context: CliContext): void {
  defineCommand(program, {
    usage: 'lead-index',
    description: 'Show whether this database has the smaller lead index, or move it there',
    examples: ['lead-index', 'lead-index --apply'],
    notes:
      'New databases have it. The service runs meanwhile, but each process must have this release.\nThe user in MONGODB_URL needs the role dbAdmin for it. A run that was interrupted goes on\nwith the next run.',
  })
    .option('--apply', 'move the database; without it nothing changes')
    .action((options: LeadIndexOptions) => context.present(options, leadIndex(context, options)));
}

async function leadIndex(context: CliContext, { apply = false, json }: LeadIndexOptions): Promise<CommandResult> {
  const { readLeadIndexState } = await import('../../../../shared/store/lead-index/move-lead-index.js');
  const { connections } = context;
  const before = await readLeadIndexState(await connections.database());
  if (!apply || (before.step === 'complete' && !before.hasOld))
    return { document: documentOf(before, 0), text: textOf(before) };
  const filled = await move(context, { isSilent: json === true });
  const after = await readLeadIndexState(await connections.database());
  return {
    document: documentOf(after, filled),
    text: `${countText(filled)} segments got a number.\n${textOf(after)}`,
  };
}

async function move(
  { connections, stderr }: CliContext,
  { isSilent }: { readonly isSilent: boolean },
): Promise<number> {
  const { moveLeadIndex } = await import('../../../../shared/store/lead-index/move-lead-index.js');
  const { missingRights } = await import('../../../../shared/store/connection/connect.js');
  const { olderProcesses, ProcessRegister } = await import('../../../../shared/redis/process-register.js');
  refuseOlder(olderProcesses(await new ProcessRegister(await connections.redis()).list()));
  const database = await connections.preparedDatabase();
  const everyMs = 10_000;
  let dueMs = performance.now() + everyMs;
  const onProgress = (filled: number): void => {
    if (isSilent || performance.now() < dueMs) return;
    dueMs = performance.now() + everyMs;
    stderr.write(`${countText(filled)} segments have got a number.\n`);
  };
  return await moveLeadIndex(database, { onProgress }).catch((cause: unknown) => {
    throw missingRights(cause) === undefined ? cause : noRight(cause);
  });
}

/** An older process writes no numbers, which MongoDB refuses from the first step on. */
function refuseOlder(older: readonly string[]): void {
  if (older.length === 0) return;
  throw new CliError(
    `Processes of an earlier release are running, whose calls would fail: ${older.join(', ')}. Replace them by this ` +
      'release, wait 35 seconds, and run the command again.',
    { code: 'older_processes' },
  );
}

const noRight = (cause: unknown): CliError =>
  new CliError(
    'MongoDB does not let the user in MONGODB_URL change the rule of a collection: give it the role dbAdmin on the ' +
      'database until the command has ended, and run the command again.',
    { code: 'missing_right', cause },
  );

const documentOf = ({ step, hasOld }: LeadIndexState, filled: number) => ({
  ...{ step, has_old_index: hasOld, segments_filled: filled },
});

function textOf({ step, hasOld }: LeadIndexState): string {
  if (step === 'complete')
    return hasOld
      ? 'This database has the smaller lead index. The old one is still there: run `npx leadscore lead-index --apply`.'
      : 'This database has the smaller lead index. There is nothing to do.';
  return step === 'filling'
    ? 'A run has begun and not ended. To go on, run `npx leadscore lead-index --apply`.'
    : 'This database has the lead index of an earlier release. To move it, run `npx leadscore lead-index --apply`.';
}
