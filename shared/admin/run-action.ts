import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { isoInstant } from '../contract/dates.js';
import { mayActAs } from '../contract/roles.js';
import { type Schema, type ShapeOf, withoutMetaSchema } from '../contract/schema.js';
import { type Change, publishChange } from '../redis/changes.js';
import { OrganisationStore } from '../store/accounts/organisations.js';
import type { ClientSession } from '../store/connection/connect.js';
import { inTransaction } from '../store/connection/transaction.js';
import { AuditLog } from '../store/console/audit-log.js';
import type { Action, ActionContext, AdminContext, RecordedChange } from './action.js';
import { AdminError, notFound } from './admin-error.js';

const transactionTimeoutMs = 10_000;

/**
 * Does an action for a person: checks input and role, runs it, records it, and announces it to running processes.
 * @param input of unknown shape
 * @param material input that is not JSON
 * @throws AdminError when it is refused; errors of MongoDB and Redis; CommitUnknown
 */
export async function runAction<Input extends Schema, Output extends Schema, Material, Prepared>(
  action: Action<Input, Output, Material, Prepared>,
  input: unknown,
  context: AdminContext,
  ...[material]: Material extends undefined ? [] : [material: Material]
): Promise<ShapeOf<Output>> {
  const { actor } = context;
  if (!mayActAs(actor.role, action.role))
    throw new AdminError(
      'forbidden',
      `This needs the role ${action.role}, and ${actor.name} has the role ${actor.role}.`,
    );
  const checked = checkedInput<ShapeOf<Input>>(action.input, input);
  if (action.isOfPerson !== true) await checkOrganisation(context, checked);
  const given = material as Material;
  // Without `prepare` both have the same type.
  const prepared =
    action.prepare === undefined ? (given as unknown as Prepared) : await action.prepare(context, checked, given);
  const run = (session: ClientSession | undefined, announce: ActionContext['announce']) => {
    const record = (change: RecordedChange) => recordChange(action.name, change, context, session);
    return action.run({ ...context, session, record, announce }, checked, prepared);
  };
  if (action.effect !== 'change') return await announcing(context, (announce) => run(undefined, announce));
  return await announcing(context, async (announce) => {
    let result: { readonly output: ShapeOf<Output>; readonly changes: readonly Change[] } | undefined;
    const attempt = async ({ session }: { readonly session: ClientSession }) => {
      const changes: Change[] = [];
      const output = await run(session, (change) => changes.push(change));
      result = { output, changes };
    };
    await inTransaction(context.client, attempt, { timeoutMs: transactionTimeoutMs });
    if (result === undefined) throw new Error('the transaction ended without a result');
    for (const change of result.changes) announce(change);
    return result.output;
  });
}

/** Runs `work`, then announces the changes that it named, also after it has failed on the way. */
async function announcing<Result>(
  { redis, notAnnounced }: AdminContext,
  work: (announce: ActionContext['announce']) => Promise<Result>,
): Promise<Result> {
  const changes: Change[] = [];
  try {
    return await work((change) => changes.push(change));
  } finally {
    try {
      for (const change of changes) await publishChange(await redis(), change);
    } catch (error) {
      notAnnounced(error);
    }
  }
}

/** Appends an entry to the audit log. @param session of the transaction of the change, if there is one */
export async function recordChange(
  action: string,
  { organisationId, before = {}, after = {}, ...change }: RecordedChange,
  { database, clock, actor, requestId }: AdminContext,
  session?: ClientSession,
): Promise<void> {
  const { name, way, address } = actor;
  const entry = {
    ...(organisationId === undefined ? {} : { org: organisationId }),
    at: new Date(clock.now()),
    actor: { name, way, ...(address === undefined ? {} : { address }) },
    action,
    ...change,
    ...(Object.keys(before).length === 0 ? {} : { before }),
    ...(Object.keys(after).length === 0 ? {} : { after }),
    request_id: requestId,
  };
  await new AuditLog(database).append(entry, session);
}

/** A person of an organisation reaches nothing of another one, and cannot tell whether it exists. */
async function checkOrganisation({ actor, database }: AdminContext, input: unknown): Promise<void> {
  if (actor.organisationId === undefined) return;
  const named: unknown = typeof input === 'object' && input !== null && 'org_id' in input ? input.org_id : undefined;
  if (named !== actor.organisationId) throw notFound('organisation', String(named ?? 'without org_id'));
  // A session that begins while the deletion is ordered may outlive it.
  const organisation = await new OrganisationStore(database).find(actor.organisationId);
  if (organisation?.deletion !== undefined) throw notFound('organisation', actor.organisationId);
}

const formats = {
  'date-time': (text: string) => isoInstant(text) !== undefined,
  'well-formed-text': (text: string) => text.isWellFormed() && !text.includes('\0'),
} as const;
/** `ownProperties`: a member of the prototype does not count as sent. */
const ajv = new Ajv2020({
  ownProperties: true,
  strict: true,
  strictTypes: false,
  unicodeRegExp: true,
  formats,
  verbose: true,
  ...withoutMetaSchema,
});
const checks = new WeakMap<Schema, ValidateFunction>();

/** @throws AdminError invalid_request that names the wrong member */
export function checkedInput<Shape>(schema: Schema, input: unknown): Shape {
  const check = checks.get(schema) ?? ajv.compile(schema);
  checks.set(schema, check);
  if (check(input)) return input as Shape;
  const [problem] = check.errors ?? [];
  throw problem === undefined ? new AdminError('invalid_request', 'The input is not valid.') : asAdminError(problem);
}

function asAdminError({
  instancePath,
  keyword,
  params,
  message = 'is not valid',
  parentSchema,
}: ErrorObject): AdminError {
  const path = instancePath.slice(1).replaceAll('/', '.');
  const named = keyword === 'required' ? params.missingProperty : params.additionalProperty;
  const member = [path, named].filter((part) => typeof part === 'string' && part !== '').join('.');
  if (member === '') return new AdminError('invalid_request', `The input ${message}.`);
  const oneOf = `must be one of ${JSON.stringify(parentSchema?.enum)}`;
  const problems: Readonly<Record<string, string>> = {
    required: 'is missing',
    additionalProperties: 'is unknown here',
    enum: oneOf,
    ...(parentSchema?.enum !== undefined && { type: oneOf }),
    format:
      params.format === 'date-time'
        ? 'must be a date such as 2026-12-31T12:00:00Z'
        : 'has a character that is not allowed',
    pattern: 'does not have the form of such a value',
  };
  return new AdminError('invalid_request', `${member} ${problems[keyword] ?? message}.`, { member });
}
