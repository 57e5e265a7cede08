import type { Command } from 'commander';
import type { CliContext } from '../../context/cli-context.js';
import { defineCommand, yearAndMonth } from '../define-command.js';
import type { UsageOptions } from './usage-actions.js';

/** Adds `usage show`, `usage refused` and `usage reconcile`. */
export function addUsageCommands(program: Command, context: CliContext): void {
  const usage = program.command('usage').description('Usage: records scored by an organisation in a month');

  defineCommand(usage, {
    usage: 'show <org>',
    description: 'Show live and test usage of a month: counters in Redis and the sum of the ledger, or its days',
    examples: [
      'usage show org_4fzyo82mVYHgQ1bT --month 2026-11',
      'usage show org_4fzyo82mVYHgQ1bT --daily --csv > usage.csv',
    ],
  })
    .option('--month <YYYY-MM>', 'UTC month; default: the current one', yearAndMonth)
    .option('--daily', 'records and calls of each day (UTC) instead')
    .option('--csv', 'with --daily: as CSV, one line a day and bucket')
    .action(async (organisationId: string, options: UsageOptions) => {
      const { showDailyUsage, showUsage } = await import('./usage-actions.js');
      const show = options.daily === true || options.csv === true ? showDailyUsage : showUsage;
      await context.present(options, show(context, organisationId, options));
    });

  defineCommand(usage, {
    usage: 'refused <org>',
    description: 'List the last 200 calls that were refused or that failed, of the last seven days, latest first',
    examples: ['usage refused org_4fzyo82mVYHgQ1bT'],
    notes: 'None of them was counted. Calls without a valid key belong to no organisation.',
  }).action(async (organisationId: string, options: UsageOptions) => {
    const { listRefusedCalls } = await import('./usage-actions.js');
    await context.present(options, listRefusedCalls(context, organisationId));
  });

  defineCommand(usage, {
    usage: 'reconcile <org>',
    description: 'Set the counters in Redis to the sum of the ledger. Safe while calls are served',
    examples: ['usage reconcile org_4fzyo82mVYHgQ1bT'],
    notes:
      'The ledger in MongoDB is authoritative. Expired leases are ended first: settled if\nthe ledger contains the call, released otherwise.',
  })
    .option('--month <YYYY-MM>', 'UTC month; default: the current one', yearAndMonth)
    .action(async (organisationId: string, options: UsageOptions) => {
      const { reconcileUsage } = await import('./usage-actions.js');
      await context.present(options, reconcileUsage(context, organisationId, options));
    });
}
