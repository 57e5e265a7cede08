import type { Command } from 'commander';
import { OrganisationStore } from '../../../../shared/store/accounts/organisations.js';
import type { CliContext, CommandResult } from '../../context/cli-context.js';
import { recordCommand } from '../../context/perform.js';
import { requireOrganisation } from '../../context/require-organisation.js';
import { Progress } from '../../output/progress.js';
import { countText } from '../../output/readable-numbers.js';
import { renderFields } from '../../output/table.js';
import { defineCommand, type JsonOption } from '../define-command.js';

/** Adds `org export`. */
export function addExportCommand(organisations: Command, context: CliContext): void {
  defineCommand(organisations, {
    usage: 'export <org> <file>',
    description: 'Write all that is stored of an organisation to an archive (.tar.gz)',
    examples: ['org export org_4fzyo82mVYHgQ1bT acme.tar.gz'],
    notes: `
Its members are JSON Lines of at most 8 MiB. They have calls, records with the
names of their fields, outcomes, models, verdicts and jobs. They also have keys
without their hashes, members, usage and the audit log. Bundles are in a folder.
members.json has counts and SHA-256.
It has all calls from before its start. When leads are erased meanwhile, it fails
at its end, and no file is left.`.trim(),
  }).action((organisationId: string, path: string, options: JsonOption) =>
    context.present(options, exportToFile(context, { organisationId, path, options })),
  );
}

async function exportToFile(
  context: CliContext,
  of: { readonly organisationId: string; readonly path: string; readonly options: JsonOption },
): Promise<CommandResult> {
  const { organisationId, path, options } = of;
  const { exportOrganisation } = await import('../../export/export-organisation.js');
  const database = await context.connections.database();
  await requireOrganisation(new OrganisationStore(database), organisationId);
  const redis = await context.connections.redis();
  await recordCommand(context, 'org.export', { organisationId });
  const progress =
    options.json === true ? undefined : new Progress({ stream: context.stderr, label: 'Exporting', unit: 'records' });
  progress?.start();
  const counts = await exportOrganisation({
    ...{ database, redis, organisationId, path },
    onProgress: (state) => progress?.update(state),
  }).finally(() => progress?.stop());
  return {
    document: { org_id: organisationId, file: path, ...counts },
    text: renderFields([
      ['Calls', countText(counts.calls)],
      ['Records', countText(counts.records)],
      ['Outcomes', countText(counts.documents.outcomes ?? 0)],
      ['Bundles', countText(counts.bundles)],
      ['File', path],
    ]),
  };
}
