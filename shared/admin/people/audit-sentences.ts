import { countText } from '../../contract/figures.js';
import type { AuditEntry } from '../../store/console/audit-log.js';

type Members = Readonly<Record<string, unknown>>;

/** An entry of the audit log as a sentence needs it. */
interface Told {
  /** The name of the changed object, or its id. */
  readonly thing: string;
  readonly before: Members;
  readonly after: Members;
}

type Words = string | ((of: Told) => string);

/** The words of settings; others are said by their name. */
const words: Readonly<Record<string, string>> = {
  live_api: 'Live API',
  rate_per_second: 'the rate a second',
  scopes: 'the scopes',
  expires_at: 'the expiry',
  name: 'the name',
  plan: 'the plan',
  own_limit: 'the own limit',
  trial_ends_at: 'the end of the trial',
  policy: 'the deploy policy',
  won_values: 'the values that mean won',
  lost_values: 'the values that mean lost',
};
const organisationSettings = ['name', 'plan', 'own_limit', 'trial_ends_at', 'policy', 'won_values', 'lost_values'];
const keySettings = ['rate_per_second', 'scopes', 'expires_at'];
const maxLength = 80;

/** Each action that leaves an entry, as the rest of a sentence after the name of the person. */
export const auditSentences: Readonly<Record<string, Words>> = {
  'org.create': ({ thing }) => `created the organisation ${thing}`,
  'org.set': (of) => settingsText(of, organisationSettings) ?? 'changed settings of the organisation',
  'org.suspend': 'suspended the organisation',
  'org.resume': 'ended the suspension of the organisation',
  'org.delete': ({ thing }) => `asked for the deletion of the organisation ${thing}`,
  'org.undelete': ({ thing }) => `took back the deletion of the organisation ${thing}`,
  'org.export': 'exported all that is stored of the organisation',
  'key.create': ({ thing, after }) => `created the ${valueText(after.kind)} key ${thing}`,
  'key.set': keyText,
  'key.revoke': ({ thing }) => `revoked the key ${thing}`,
  'key.end_pepper': keyPepperText,
  'model.import': importText,
  'upload.create': ({ after }) => `uploaded a bundle of ${valueText(after.bytes)} bytes`,
  'upload.import': importText,
  'model.set': (of) => modelText(of) ?? `changed settings of ${of.thing}`,
  'model.delete': ({ thing }) => `deleted the model ${thing}`,
  'model.override': (of) => modelText(of) ?? `overrode the verdict on ${of.thing}`,
  'model.remove_override': ({ thing }) => `removed the override of ${thing}`,
  'model.candidate': (of) => modelText(of) ?? `kept the candidate of ${of.thing}`,
  'model.drop_candidate': ({ thing, before }) => `dropped the candidate ${versionIn(before.candidate)} of ${thing}`,
  'model.promote': ({ thing, after }) => `promoted the version ${valueText(after.version)} of ${thing}`,
  'model.rollback': ({ thing, after }) => `rolled ${thing} back to the version ${valueText(after.version)}`,
  'lead.show': 'looked at a lead',
  'lead.export': 'exported all that is stored of a lead',
  'lead.search': ({ after }) =>
    typeof after.leads_found === 'number'
      ? `searched for leads, and found ${countText(after.leads_found)}`
      : 'searched for leads',
  'lead.recent': 'looked at the newest, highest and most changed leads',
  'lead.erase': 'erased a lead',
  'outcomes.import': ({ after }) =>
    typeof after.accepted === 'number' ? `imported ${plural(after.accepted, 'outcome')}` : 'imported outcomes',
  'outcomes.set': 'set the values of the CRM that mean won and lost',
  'job.create': ({ thing }) => `created the job ${thing}`,
  'job.create_stored': ({ thing }) => `created the job ${thing} for stored leads`,
  'job.pause': ({ thing }) => `paused the job ${thing}`,
  'job.resume': ({ thing }) => `resumed the job ${thing}`,
  'job.cancel': ({ thing }) => `canceled the job ${thing}`,
  'job.delete': ({ thing }) => `deleted the job ${thing}`,
  'job.results': ({ thing }) => `downloaded the results of the job ${thing}`,
  'job.errors': ({ thing }) => `downloaded the failed rows of the job ${thing}`,
  'member.add': ({ thing, after }) => `let ${thing} sign in as ${valueText(after.role)}`,
  'member.set': ({ thing, before, after }) =>
    `changed the role of ${thing} from ${valueText(before.role)} to ${valueText(after.role)}`,
  'member.remove': ({ thing }) => `removed the member ${thing}`,
  'link.create': ({ after }) => `made a sign-in link for ${valueText(after.person)} as ${valueText(after.role)}`,
  'session.begin': 'signed in',
  'session.end_own': 'ended an own session',
  'session.revoke': ({ before }) => `ended a session of ${valueText(before.person)}`,
  'session.revoke_operator': ({ before }) => `ended a session of the operator ${valueText(before.person)}`,
  'token.create': ({ thing }) => `created the token ${thing}`,
  'token.revoke': ({ thing }) => `revoked the token ${thing}`,
  'usage.reconcile': ({ after }) => `set the counters of ${valueText(after.month)} from the ledger`,
  'validation.run': ({ thing, after }) =>
    `graded ${typeof after.versions === 'number' ? plural(after.versions, 'version') : 'versions'}${thing === '' ? '' : ` of ${thing}`}`,
  'model.train': ({ thing, after }) =>
    `trained a model on ${typeof after.leads === 'number' ? plural(after.leads, 'stored lead') : 'stored leads'} of ${thing}`,
  'restore.finish': 'finished a restore',
  'schema.contract': 'ended the use of the database by earlier releases',
  'schema.migrate': ({ before, after }) =>
    `migrated the database from level ${valueText(before.at)} to ${valueText(after.at)}`,
  'shard.apply': 'distributed the collections over shards',
};

/**
 * Says what an entry of the audit log means: `Ada switched Live API of Expansion off`. An action of a later release is
 * said by its name.
 * @param name of the changed object; absent for an object without one
 */
export function auditSentence(
  {
    actor,
    action,
    target,
    before = {},
    after = {},
  }: Pick<AuditEntry, 'actor' | 'action' | 'target' | 'before' | 'after'>,
  name?: string,
): string {
  const thing = name ?? target ?? '';
  const told = Object.hasOwn(auditSentences, action) ? auditSentences[action] : undefined;
  const unknown = `did ${action}${thing === '' ? '' : ` with ${thing}`}`;
  return `${actor.name} ${typeof told === 'function' ? told({ thing, before, after }) : (told ?? unknown)}`;
}

const plural = (count: number, noun: string): string => `${countText(count)} ${noun}${count === 1 ? '' : 's'}`;

/** `Ada set the plan to pro and the own limit to none`, without `Ada`; undefined if none of the settings changed. */
function settingsText({ before, after }: Pick<Told, 'before' | 'after'>, names: readonly string[]): string | undefined {
  const changes = names
    .filter((name) => name in before || name in after)
    .map((name) => `${words[name] ?? name} to ${valueText(after[name])}`);
  return changes.length === 0 ? undefined : `set ${listText(changes)}`;
}

function keyText({ thing, before, after }: Told): string {
  const renamed = 'name' in after ? `renamed the key ${valueText(before.name)} to ${valueText(after.name)}` : undefined;
  const settings = settingsText({ before, after }, keySettings);
  const set = settings && (renamed ? settings : `${settings} for the key ${thing}`);
  return [renamed, set].filter((text) => text !== undefined).join(', and ') || `changed the key ${thing}`;
}

/** The entry of the operator, or that of an organisation about a key that had no hash with the kept pepper. */
function keyPepperText({ thing, after }: Told): string {
  if ('kept' in after) return `ended the change of the pepper, and kept the ${valueText(after.kept)} one`;
  return `revoked the key ${thing} at the end of a change of the pepper`;
}

function importText(of: Told): string {
  const { thing, before, after } = of;
  if ('created_at' in after) return `imported the model ${thing}`;
  if ('candidate' in after) return `stored the version ${versionIn(after.candidate)} of ${thing} as a candidate`;
  if ('version' in after)
    return `imported the version ${valueText(after.version)} of ${thing}, which scores instead of ${valueText(before.version)}`;
  return `imported a stored version of ${thing} again`;
}

/** The changes of a model in the order of their weight; undefined without a known one. */
function modelText({ thing, before, after }: Told): string | undefined {
  const changes = [
    'version' in after &&
      `let the version ${valueText(after.version)} of ${thing} score instead of ${valueText(before.version)}`,
    'live_api' in after && `switched Live API of ${thing} ${after.live_api === true ? 'on' : 'off'}`,
    'override' in after && `let the version ${versionIn(after.override)} of ${thing} score although it has not passed`,
    'override' in before && !('override' in after) && `removed the override of ${thing}`,
    'candidate' in after && `made the version ${versionIn(after.candidate)} the candidate of ${thing}`,
    'candidate' in before &&
      !('candidate' in after) &&
      `dropped the candidate ${versionIn(before.candidate)} of ${thing}`,
    'name' in after && `renamed the model ${valueText(before.name)} to ${valueText(after.name)}`,
  ].filter((text) => text !== false);
  return changes.length === 0 ? undefined : changes.join(', and ');
}

const listText = (texts: readonly string[]): string =>
  texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;

const versionIn = (value: unknown): string =>
  typeof value === 'object' && value !== null && 'version' in value ? valueText(value.version) : 'none';

/** A value in a sentence. Instants are days, and long texts are cut. */
function valueText(value: unknown): string {
  if (value === undefined || value === null) return 'none';
  if (typeof value === 'number') return countText(value);
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  const text = Array.isArray(value) ? value.map(valueText).join(', ') : textOf(value);
  const shown = /^\d{4}-\d{2}-\d{2}T/.test(text) ? text.slice(0, 10) : text;
  const characters = [...shown];
  return characters.length <= maxLength ? shown : `${characters.slice(0, maxLength - 1).join('')}…`;
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value instanceof Date ? value.toISOString() : JSON.stringify(value);
}
