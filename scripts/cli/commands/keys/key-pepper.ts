import type { Command } from 'commander';
import {
  endPepper as endPepperAction,
  showPepper as showPepperAction,
} from '../../../../shared/admin/organisations/key-pepper.js';
import type { showPepperOutput } from '../../../../shared/admin/schemas/peppers.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { usageError } from '../../context/cli-error.js';
import { perform } from '../../context/perform.js';
import { countText } from '../../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../../output/table.js';
import { defineCommand, type JsonOption } from '../define-command.js';

/** Adds `key pepper`. */
export function addPepperCommand(keys: Command, context: CliContext): void {
  defineCommand(keys, {
    usage: 'pepper',
    description: 'Show how far a new pepper has come, or end its roll-out',
    examples: ['key pepper', 'key pepper --finish', 'key pepper --undo'],
    notes: pepperNotes,
  })
    .option('--finish', 'drop the hashes with the previous pepper, and revoke keys without a new one')
    .option('--undo', 'drop the hashes with the new pepper')
    .action((options: PepperOptions) => context.present(options, pepper(context, options)));
}

const pepperNotes = `
A roll-out begins when a gateway or a console starts with KEY_PEPPER_PREVIOUS. Each key
gets its new hash at its next call.
The option --finish is refused while a process with the previous pepper runs. The same
holds while a key that was used within 30 days has no new hash.
The option --undo is refused while a process with the new pepper runs.`.trim();

interface PepperOptions extends JsonOption {
  readonly finish?: boolean;
  readonly undo?: boolean;
}

async function pepper(context: CliContext, { finish, undo }: PepperOptions): Promise<CommandResult> {
  if (finish === true && undo === true) throw usageError('Give --finish or --undo, not both');
  if (finish === true || undo === true) return await end(context, finish === true ? 'new' : 'previous');
  const document = await perform(context, showPepperAction, {});
  if (!document.is_rolling_out) return { document, text: 'No pepper is being rolled out.' };
  const fields = renderFields([
    ['Keys with the new pepper', countText(document.keys_with_new)],
    ['Keys with the previous one only', countText(document.keys_with_old)],
  ]);
  const table = tableOf(document.old_keys, columns, { width: lineWidth(context.stdout), none: '' });
  return { document, text: document.old_keys.length === 0 ? `${fields}\n\n${allNew}` : `${fields}\n\n${table}` };
}

async function end(context: CliContext, keep: 'new' | 'previous'): Promise<CommandResult> {
  const document = await perform(context, endPepperAction, { keep });
  const { keys_revoked: revoked } = document;
  const text =
    keep === 'new'
      ? `All keys have the new pepper alone.${revokedText(revoked)}\nRemove KEY_PEPPER_PREVIOUS at the next restart.`
      : 'All keys have the previous pepper alone.';
  return { document, text };
}

const revokedText = (count: number): string =>
  count === 0 ? '' : ` Revoked, because they were unused and had no new hash: ${countText(count)}.`;

const allNew = 'Each key has a hash with the new pepper. End the roll-out: npx leadscore key pepper --finish';

type OldKey = ShapeOf<typeof showPepperOutput>['old_keys'][number];

const columns: Columns<OldKey> = [
  ['Key', (key) => key.key_id, 'whole'],
  ['Organisation', (key) => key.org_id, 'whole'],
  ['Name', (key) => key.name],
  ['Last used', (key) => key.last_used_at?.slice(0, 10) ?? 'never', 'whole'],
  ['At the end', (key) => (key.is_in_use ? 'refuses it' : 'is revoked')],
];
