import type { Command } from 'commander';
import { listAudit, listOperatorAudit } from '../../../shared/admin/people/audit-actions.js';
import { auditCsvHead, auditCsvLines } from '../../../shared/admin/people/audit-csv.js';
import { type auditEntrySchema, type listAuditOutput, mostAuditEntries } from '../../../shared/admin/schemas/people.js';
import type { ShapeOf } from '../../../shared/contract/schema.js';
import { type CliContext, type CommandResult, lineWidth } from '../context/cli-context.js';
import { usageError } from '../context/cli-error.js';
import { perform } from '../context/perform.js';
import { readableDate } from '../output/readable-numbers.js';
import { type Columns, tableOf } from '../output/table.js';
import { calendarDay, defineCommand, type JsonOption, nonBlank, wholeNumber } from './define-command.js';

interface AuditOptions extends JsonOption {
  readonly operator?: true;
  readonly since?: string;
  readonly until?: string;
  readonly kind?: string;
  readonly action?: string;
  readonly person?: string;
  readonly lead?: string;
  readonly limit?: number;
  readonly csv?: true;
}

type Entry = ShapeOf<typeof auditEntrySchema>;
type Page = ShapeOf<typeof listAuditOutput>;

const defaultLimit = 100;

/** Adds `audit`. */
export function addAuditCommand(program: Command, context: CliContext): void {
  defineCommand(program, {
    usage: 'audit [org]',
    description: 'List who changed what and when, latest first',
    examples: [
      'audit org_4fzyo82mVYHgQ1bT',
      'audit org_4fzyo82mVYHgQ1bT --action key.revoke --since 2026-11-01',
      'audit org_4fzyo82mVYHgQ1bT --lead 00Q5g00000AbCdEEAV',
      'audit --operator --json > operator.jsonl',
      'audit org_4fzyo82mVYHgQ1bT --since 2026-11-01 --csv > audit.csv',
    ],
    notes: [
      'With --json each entry is a line of its own, a JSON object with the values before and after.',
      '--csv prints all entries that match.',
    ].join('\n'),
  })
    .option('--operator', 'the entries that belong to no organisation, such as tokens and migrations')
    .option('--since <day>', 'only entries from this day on (UTC)', calendarDay)
    .option('--until <day>', 'only entries up to this day', calendarDay)
    .option('--kind <word>', 'only actions that begin with this word, such as key', nonBlank)
    .option('--action <name>', 'only entries of this action, such as key.revoke', nonBlank)
    .option('--person <name>', 'only entries of who has this name', nonBlank)
    .option('--lead <crm-id>', 'only reads of this lead', nonBlank)
    .option(
      '--limit <entries>',
      `at most so many entries (default: ${defaultLimit}; all with --csv)`,
      wholeNumber({ min: 1, max: 1_000_000 }),
    )
    .option('--csv', 'print CSV, with the same columns as the file of the console')
    .action((organisationId: string | undefined, options: AuditOptions) =>
      context.present(options, audit(context, organisationId, options)),
    );
}

async function audit(
  context: CliContext,
  organisationId: string | undefined,
  options: AuditOptions,
): Promise<CommandResult> {
  if ((organisationId === undefined) === (options.operator !== true))
    throw usageError('Name an organisation, or give --operator for the entries of none');
  if (options.lead !== undefined && options.operator) throw usageError('--lead needs an organisation');
  if (options.csv && options.json) throw usageError('Give --csv or --json');
  const entries: Entry[] = [];
  const limit = options.limit ?? (options.csv ? Number.POSITIVE_INFINITY : defaultLimit);
  let left = limit;
  if (options.csv) context.stdout.write(auditCsvHead);
  for await (const page of pages(context, organisationId, { ...options, limit })) {
    const wanted = page.slice(0, left);
    left -= wanted.length;
    // Lines are not kept: a log of years does not fit into memory.
    if (options.csv) context.stdout.write(auditCsvLines(wanted));
    else if (options.json === true) for (const entry of wanted) context.stdout.write(`${JSON.stringify(entry)}\n`);
    else entries.push(...wanted);
    if (left === 0) break;
  }
  const width = lineWidth(context.stdout);
  return {
    document: entries,
    text: tableOf(entries, columns, { width, none: 'No entries.' }),
    silent: options.json === true || options.csv === true,
  };
}

/** The entries, a page at a time. */
async function* pages(
  context: CliContext,
  organisationId: string | undefined,
  { since, until, kind, action, person, lead, limit }: AuditOptions & { readonly limit: number },
): AsyncGenerator<readonly Entry[]> {
  const filters = {
    limit: Math.min(limit, mostAuditEntries),
    ...(since === undefined ? {} : { from: since }),
    ...(until === undefined ? {} : { to: until }),
    ...(kind === undefined ? {} : { kind }),
    ...(action === undefined ? {} : { action }),
    ...(person === undefined ? {} : { actor: person }),
  };
  for (let before: string | undefined, isLast = false; !isLast; ) {
    const from = { ...filters, ...(before === undefined ? {} : { before }) };
    const { entries, next }: Page =
      organisationId === undefined
        ? await perform(context, listOperatorAudit, from)
        : await perform(context, listAudit, {
            org_id: organisationId,
            ...from,
            ...(lead === undefined ? {} : { lead }),
          });
    yield entries;
    before = next;
    isLast = next === undefined;
  }
}

const columns: Columns<Entry> = [
  ['At (UTC)', ({ at }) => readableDate(new Date(at)), 'whole'],
  [
    'Change',
    ({ sentence, actor, reason }) => `${sentence}, by ${actor.way}${reason === undefined ? '' : `: ${reason}`}`,
  ],
  ['Object', ({ target }) => target ?? '', 'whole'],
];
