import type { Db } from 'mongodb';
import { OrganisationStore } from '../../../shared/store/accounts/organisations.js';
import { inTransaction } from '../../../shared/store/connection/transaction.js';
import { type Deletion, DeletionStore } from '../../../shared/store/organisations/deletions.js';
import {
  restoreOrganisation,
  withdrawOrganisation,
} from '../../../shared/store/organisations/withdraw-organisation.js';

/** A deletion as the file of changes has it. */
export type NotedDeletion = Omit<Deletion, 'work'>;

const timeoutMs = 30_000;

/**
 * Repeats the deletion of an organisation in a database that was restored from an older backup. Takes it back instead
 * if an operator did so after the backup. Pools remove the data of an organisation whose days are over. Idempotent.
 * @returns 1 if the organisation is to be deleted or has no data, else 0
 * @throws errors of MongoDB
 */
export async function repeatDeletion(database: Db, noted: NotedDeletion): Promise<number> {
  const { _id: organisationId, requested_at: requestedAt, by, due_at: dueAt } = noted;
  let isOrdered = noted.state !== 'taken_back';
  await inTransaction(
    database.client,
    async ({ session }) => {
      const deletions = new DeletionStore(database, session);
      const stored = await deletions.find(organisationId);
      // A removal that the backup has begun goes on.
      if (stored?.state === 'removing') return;
      // A file may be older than the backup, in which the deletion was taken back or ordered for another day.
      if (noted.state === 'pending' && stored !== undefined && stored.requested_at >= requestedAt) {
        isOrdered = stored.state !== 'taken_back';
        return;
      }
      const organisation = await new OrganisationStore(database, session).find(organisationId);
      if (noted.state === 'taken_back') {
        const isSame = organisation?.deletion?.requested_at.getTime() === requestedAt.getTime();
        if (isSame) await restoreOrganisation(database, session, { organisationId, at: noted.ended_at ?? requestedAt });
      } else if (organisation !== undefined)
        await withdrawOrganisation(database, session, { organisationId, requestedAt, by, dueAt });
      // Its receipt came after the backup.
      else if (stored === undefined && noted.state === 'deleted') await deletions.put(noted);
    },
    { timeoutMs },
  );
  return isOrdered ? 1 : 0;
}
