import type { Command } from 'commander';
import {
  deleteOrganisation as deleteOrganisationAction,
  undeleteOrganisation as undeleteOrganisationAction,
} from '../../../../shared/admin/organisations/deletion.js';
import { listDeletions as listDeletionsAction } from '../../../../shared/admin/organisations/list-deletions.js';
import { showOrganisation as showOrganisationAction } from '../../../../shared/admin/organisations/read-organisations.js';
import {
  leastDeletionDays,
  type listDeletionsOutput,
  mostDeletionDays,
  type organisationSchema,
  usualDeletionDays,
} from '../../../../shared/admin/schemas/organisations.js';
import { dayMs } from '../../../../shared/contract/dates.js';
import type { ShapeOf } from '../../../../shared/contract/schema.js';
import { type CliContext, type CommandResult, lineWidth } from '../../context/cli-context.js';
import { notFound, usageError } from '../../context/cli-error.js';
import { perform } from '../../context/perform.js';
import { countText, readableDate } from '../../output/readable-numbers.js';
import { type Columns, renderFields, tableOf } from '../../output/table.js';
import { defineCommand, type JsonOption, plainText, wholeNumber } from '../define-command.js';

type Shown = (document: ShapeOf<typeof organisationSchema>) => Pick<CommandResult, 'document' | 'text'>;

/** Adds `org delete`, `undelete` and `receipts`. @param shown an organisation as the other commands show it */
export function addDeletionCommands(organisations: Command, context: CliContext, shown: Shown): void {
  defineCommand(organisations, {
    usage: 'delete <org>',
    description: 'Delete an organisation with all its data, some days from now',
    examples: ['org delete org_4fzyo82mVYHgQ1bT --after 7', 'org delete org_4fzyo82mVYHgQ1bT --name "Acme" --after 30'],
    notes:
      'At once its calls get 401, its jobs pause and its people see nothing. Until the days are over,\n`org undelete` takes that back. Then a pool removes its data, which takes minutes to hours.\nAsks for its name if standard input is a terminal. A script gives --name.',
  })
    .option('--name <name>', 'the name of the organisation, which confirms the deletion', plainText)
    .option(
      '--after <days>',
      `days until the removal, ${leastDeletionDays} to ${mostDeletionDays}; default: ${usualDeletionDays}`,
      wholeNumber({ min: leastDeletionDays, max: mostDeletionDays }),
    )
    .action((organisationId: string, options: DeleteOptions) =>
      context.present(options, deleteOrganisation(context, organisationId, options, shown)),
    );

  defineCommand(organisations, {
    usage: 'undelete <org>',
    description: 'Take the deletion of an organisation back, until its days are over',
    examples: ['org undelete org_4fzyo82mVYHgQ1bT'],
  }).action((organisationId: string, options: JsonOption) =>
    context.present(options, undeleteOrganisation(context, organisationId, shown)),
  );

  defineCommand(organisations, {
    usage: 'receipts [org]',
    description: 'List organisations that are to be deleted, and the receipts of deleted ones',
    examples: ['org receipts', 'org receipts org_4fzyo82mVYHgQ1bT'],
    notes: 'A receipt is kept for 400 days. It has no name. With an organisation, it has all counts.',
  }).action((organisationId: string | undefined, options: JsonOption) =>
    context.present(options, showReceipts(context, organisationId)),
  );
}

interface DeleteOptions extends JsonOption {
  readonly name?: string;
  readonly after?: number;
}

async function deleteOrganisation(
  context: CliContext,
  organisationId: string,
  { name: given, after = usualDeletionDays }: DeleteOptions,
  shown: Shown,
): Promise<CommandResult> {
  const name = given ?? (await typedName(context, organisationId, after));
  if (name === undefined)
    throw usageError('Nothing was changed. Give --name with the name of the organisation, which confirms the deletion');
  const document = await perform(context, deleteOrganisationAction, {
    org_id: organisationId,
    name,
    after_days: after,
  });
  const { text, ...result } = shown(document);
  return { ...result, text: `${text}\n\nTo take it back: npx leadscore org undelete ${organisationId}` };
}

/** The name as the operator types it; undefined if there is no terminal to ask on, or nothing is typed. */
async function typedName(context: CliContext, organisationId: string, days: number): Promise<string | undefined> {
  if (!context.canAsk) return undefined;
  const { name, deletion } = await perform(context, showOrganisationAction, { org_id: organisationId });
  // The action says so.
  if (deletion !== undefined) return name;
  const day = new Date(context.clock.now() + days * dayMs).toISOString().slice(0, 10);
  const question = `All data of ${name} (${organisationId}) goes from ${day} on. To confirm, type its name: `;
  return (await context.ask(question))?.trim() || undefined;
}

async function undeleteOrganisation(context: CliContext, organisationId: string, shown: Shown): Promise<CommandResult> {
  const document = await perform(context, undeleteOrganisationAction, { org_id: organisationId });
  return shown(document);
}

type Receipt = ShapeOf<typeof listDeletionsOutput>['deletions'][number];

const states = { pending: 'to be deleted', removing: 'being removed', deleted: 'deleted' } as const;
const recordsOf = ({ records = [] }: Receipt): number => records.reduce((sum, { live, test }) => sum + live + test, 0);

async function showReceipts(context: CliContext, organisationId: string | undefined): Promise<CommandResult> {
  const { deletions: all } = await perform(context, listDeletionsAction, {});
  const deletions = all.filter(({ org_id: id }) => organisationId === undefined || id === organisationId);
  const [only] = deletions;
  if (organisationId !== undefined) {
    if (only === undefined) throw notFound(`deletion of ${organisationId}`, 'org receipts');
    return { document: only, text: describe(only) };
  }
  const columns: Columns<Receipt> = [
    ['Organisation', ({ org_id: id }) => id, 'whole'],
    ['State', ({ state }) => states[state]],
    ['Day', ({ due_at: due, ended_at: ended }) => (ended ?? due).slice(0, 10), 'whole'],
    ['Ordered by', ({ by }) => by],
    ['Records', (receipt) => (receipt.records === undefined ? '' : countText(recordsOf(receipt))), 'right'],
  ];
  const none = 'No organisation is to be deleted, and none was within 400 days.';
  return { document: { deletions }, text: tableOf(deletions, columns, { width: lineWidth(context.stdout), none }) };
}

const timeOf = (at: string | undefined): string | undefined => at && `${readableDate(new Date(at))} UTC`;

function describe(receipt: Receipt): string {
  const { org_id: id, state, by, requested_at: requested, due_at: due, begun_at: begun, ended_at: ended } = receipt;
  return renderFields([
    ['Organisation', id],
    ['State', states[state]],
    ['Ordered', `${timeOf(requested)} by ${by}`],
    ['Due', timeOf(due)],
    ['Removal began', timeOf(begun)],
    ['Deleted', timeOf(ended)],
    ...Object.entries(receipt.removed ?? {}).map(([name, count]) => [`Removed: ${name}`, countText(count)] as const),
    ...(receipt.records ?? []).map(
      ({ month, live, test }) => [`Records ${month}`, `${countText(live)} live, ${countText(test)} test`] as const,
    ),
  ]);
}
