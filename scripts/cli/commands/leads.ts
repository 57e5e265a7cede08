import type { Command } from 'commander';
import { exportLead as exportLeadAction } from '../../../shared/admin/leads/export-lead.js';
import type { exportLeadOutput } from '../../../shared/admin/schemas/leads.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import type { CliContext, CommandResult } from '../context/cli-context.js';
import { perform } from '../context/perform.js';
import { defineCommand } from './define-command.js';

/** Adds `lead export`. */
export function addLeadCommands(program: Command, context: CliContext): void {
  const leads = program.command('lead').description('Leads: all that is stored of a person');

  defineCommand(leads, {
    usage: 'export <org> <crm-id>',
    description:
      'Print all that is stored of a lead as JSON: each score with its fields, version, call and job, and the outcome',
    examples: ['lead export org_4fzyo82mVYHgQ1bT 00Q5g00000AbCdEFGH > person.json'],
    notes:
      'Ids of Salesforce are found in both of their forms. Reasons are not stored. A job is named\n' +
      'while it is kept. With --json the document has one line.',
  }).action((organisationId: string, crmId: string, options: { readonly json?: boolean }) =>
    context.present(options, exportLead(context, organisationId, crmId)),
  );
}

type Page = ShapeOf<typeof exportLeadOutput>;

async function exportLead(context: CliContext, organisationId: string, crmId: string): Promise<CommandResult> {
  const ofLead = { org_id: organisationId, crm_id: crmId };
  const { next, ...first } = await perform(context, exportLeadAction, ofLead);
  const scores = [...first.scores];
  for (let before = next; before !== undefined; ) {
    const page: Page = await perform(context, exportLeadAction, { ...ofLead, before });
    scores.push(...page.scores);
    before = page.next;
  }
  const exported_at = new Date(context.clock.now()).toISOString();
  const document = { org_id: organisationId, exported_at, ...first, scores };
  return { document, text: JSON.stringify(document, undefined, 2) };
}
