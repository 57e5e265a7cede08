import type { Db } from 'mongodb';
import { countText } from '../../contract/figures.js';
import { type AuditEntry, AuditLog } from '../../store/console/audit-log.js';
import { namesOf } from '../names-of.js';
import { recordedName } from '../people/audit-documents.js';

const mostEvents = 100;

/** A change that may explain the figures of its day. */
interface DayEvent {
  /** ISO 8601 */
  readonly at: string;
  /** `YYYY-MM-DD`, UTC */
  readonly day: string;
  readonly text: string;
  /** The name of the person or program. */
  readonly by: string;
}

type Members = NonNullable<AuditEntry['after']>;
type TextOf = (after: Members, name: string) => string | undefined;

/** A candidate scores no calls. */
const importText: TextOf = ({ version }, name) =>
  version === undefined ? undefined : `Version ${version} of ${name} imported`;
const switched = (isOn: unknown, name: string): string =>
  `Live API of ${name} switched ${isOn === true ? 'on' : 'off'}`;

/** The text of each action that may change figures; undefined for a change that does not. */
const texts: Readonly<Record<string, TextOf>> = {
  'upload.import': importText,
  'model.import': importText,
  'model.promote': ({ version }, name) => `Version ${version ?? ''} of ${name} promoted`,
  'model.rollback': ({ version }, name) => `${name} rolled back to version ${version ?? ''}`,
  'model.set': ({ live_api: isOn, version }, name) =>
    isOn !== undefined
      ? switched(isOn, name)
      : version === undefined
        ? undefined
        : `Version ${version} of ${name} scores calls`,
  'model.override': (_, name) => `Verdict on ${name} overridden`,
  'model.remove_override': (_, name) => `Override of ${name} removed`,
  'model.delete': (_, name) => `${name} deleted`,
  'job.create': ({ file }) => (typeof file === 'string' ? `Job of ${file}` : 'Job of a file'),
  'job.create_stored': () => 'Job of stored leads',
  'key.create': (_, name) => `Key ${name} created`,
  'key.revoke': (_, name) => `Key ${name} revoked`,
  'org.set': ({ plan, policy, limit }) =>
    plan !== undefined
      ? `Plan set to ${plan}`
      : policy !== undefined
        ? `Deploy policy set to ${policy}`
        : limit === undefined
          ? undefined
          : 'Limit changed',
  'org.suspend': () => 'Scoring suspended',
  'org.resume': () => 'Suspension ended',
};

/** Imports explain figures of outcomes alone. */
const textsWithOutcomes: typeof texts = {
  ...texts,
  'outcomes.import': ({ accepted }) =>
    typeof accepted === 'number' ? `Outcomes imported: ${countText(accepted)}` : 'Outcomes imported',
};

/** The events of some days from the audit log, oldest first: the latest ones if there are many. Reads some entries. */
export async function dayEvents(
  database: Db,
  organisationId: string,
  days: { readonly from: Date; readonly until: Date; readonly withOutcomes?: boolean },
): Promise<{ readonly events: readonly DayEvent[]; readonly hasMore: boolean }> {
  const { from, until, withOutcomes = false } = days;
  const textOf = withOutcomes ? textsWithOutcomes : texts;
  const query = { most: mostEvents, only: Object.keys(textOf), from, until };
  const { entries, next } = await new AuditLog(database).page(organisationId, query);
  const names = await namesOf(
    database,
    entries.flatMap(({ target }) => target ?? []),
  );
  const events = entries.flatMap((entry): DayEvent[] => {
    const { target = '' } = entry;
    const text = textOf[entry.action]?.(entry.after ?? {}, names.get(target) ?? recordedName(entry) ?? target);
    if (text === undefined) return [];
    const at = entry.at.toISOString();
    return [{ at, day: at.slice(0, 10), text, by: entry.actor.name }];
  });
  return { events: events.reverse(), hasMore: next !== undefined };
}
