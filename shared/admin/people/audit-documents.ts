import type { ShapeOf } from '../../contract/schema.js';
import type { Db } from '../../store/connection/connect.js';
import type { AuditEntry } from '../../store/console/audit-log.js';
import { namesOf } from '../names-of.js';
import type { auditEntrySchema } from '../schemas/people.js';
import { auditSentence } from './audit-sentences.js';

type EntryDocument = ShapeOf<typeof auditEntrySchema>;

/** Entries as people see them, with the names of their objects. One query reads the names of each kind. */
export async function entryDocuments(database: Db, entries: readonly AuditEntry[]): Promise<EntryDocument[]> {
  const names = await namesOf(
    database,
    entries.flatMap(({ target }) => target ?? []),
  );
  return entries.map((entry) => entryDocument(entry, names.get(entry.target ?? '') ?? recordedName(entry)));
}

function entryDocument(all: AuditEntry, name: string | undefined): EntryDocument {
  const { _id, org: _, at, actor, target, ...entry } = all;
  return {
    entry_id: _id,
    at: at.toISOString(),
    actor: { name: actor.name, way: actor.way, address: actor.address ?? null },
    sentence: auditSentence(all, name),
    target: target ?? null,
    ...entry,
    ...(name === undefined ? {} : { target_name: name }),
  };
}

/** The name of an object that exists no longer, as the entry has it. */
export function recordedName({ before, after }: AuditEntry): string | undefined {
  const values = [before, after].flatMap((members) => [members?.name, members?.email, members?.person, members?.file]);
  return values.find((value): value is string => typeof value === 'string');
}
