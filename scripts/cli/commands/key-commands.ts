import type { Command } from 'commander';
import { defaultRatePerSecond } from '../../../shared/store/api-keys.js';
import type { CliContext } from '../cli-context.js';
import { defineCommand } from '../define-command.js';
import { plainText, wholeNumber } from '../option-values.js';
import { createKey, type KeyOptions, listKeys, revokeKey } from './key-actions.js';

/** Adds `key create`, `key list` and `key revoke`. */
export function addKeyCommands(program: Command, context: CliContext): void {
  const keys = program.command('key').description('API keys: create, list, revoke');

  defineCommand(keys, {
    usage: 'create <org>',
    description: 'Create an API key; its secret is shown this once and stored only as a hash',
    examples: [
      'key create org_4fzyo82mVYHgQ1bT --name "HubSpot"',
      'key create org_4fzyo82mVYHgQ1bT --test --json | jq -r .secret',
    ],
  })
    .option('--test', 'a test key: scores for real, counts into a free bucket of 1000 records a month')
    .option('--name <name>', 'what it is for', plainText)
    .option(
      '--rate <calls>',
      'scoring calls that are accepted in any second',
      wholeNumber({ least: 1, most: 10_000 }),
      defaultRatePerSecond,
    )
    .action((organisationId: string, options: KeyOptions) =>
      context.present(options, createKey(context, organisationId, options)),
    );

  defineCommand(keys, {
    usage: 'list <org>',
    description: "List an organisation's keys, revoked ones too",
    examples: ['key list org_4fzyo82mVYHgQ1bT'],
  }).action((organisationId: string, options: KeyOptions) =>
    context.present(options, listKeys(context, organisationId)),
  );

  defineCommand(keys, {
    usage: 'revoke <key>',
    description: 'Revoke a key for ever; takes its id (key_...), not the secret',
    examples: ['key revoke key_0dKqvXb3JmZ81sUe'],
  }).action((keyId: string, options: KeyOptions) => context.present(options, revokeKey(context, keyId)));
}
