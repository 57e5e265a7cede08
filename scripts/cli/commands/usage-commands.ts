import type { Command } from 'commander';
import type { CliContext } from '../cli-context.js';
import { defineCommand } from '../define-command.js';
import { yearAndMonth } from '../option-values.js';
import type { UsageOptions } from './usage-actions.js';

/** Adds `usage show` and `usage reconcile`. */
export function addUsageCommands(program: Command, context: CliContext): void {
  const usage = program.command('usage').description('Usage: what an organisation has scored in a month');

  defineCommand(usage, {
    usage: 'show <org>',
    description: "Show a month's live and test usage, as counted and as the ledger adds up",
    examples: ['usage show org_4fzyo82mVYHgQ1bT', 'usage show org_4fzyo82mVYHgQ1bT --month 2026-11'],
  })
    .option('--month <YYYY-MM>', 'UTC month; this one by default', yearAndMonth)
    .action(async (organisationId: string, options: UsageOptions) => {
      const { showUsage } = await import('./usage-actions.js');
      await context.present(options, showUsage(context, organisationId, options));
    });

  defineCommand(usage, {
    usage: 'reconcile <org>',
    description: 'Set the counters in Redis to what the ledger says; calls may go on meanwhile',
    examples: ['usage reconcile org_4fzyo82mVYHgQ1bT'],
    notes:
      'The ledger in MongoDB is the truth. Leases that have run out are ended first:\nsettled where the ledger has the call, released where it has not.',
  })
    .option('--month <YYYY-MM>', 'UTC month; this one by default', yearAndMonth)
    .action(async (organisationId: string, options: UsageOptions) => {
      const { reconcileUsage } = await import('./usage-actions.js');
      await context.present(options, reconcileUsage(context, organisationId, options));
    });
}
