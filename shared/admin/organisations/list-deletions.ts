import { DeletionStore } from '../../store/organisations/deletions.js';
import { defineAction } from '../action.js';
import { nothing } from '../schemas/members.js';
import { listDeletionsOutput } from '../schemas/organisations.js';

/** Organisations that are to be deleted, and the receipts of deleted ones, the last ordered first. */
export const listDeletions = defineAction({
  name: 'org.deletions',
  description:
    'List the organisations that are to be deleted, and the receipts of those that were. They have no names.',
  role: 'operator',
  effect: 'read',
  input: nothing,
  output: listDeletionsOutput,
  async run({ database }) {
    const found = await new DeletionStore(database).list();
    const deletions = found.flatMap(({ _id, state, requested_at, by, due_at, begun_at, ended_at, ...rest }) => {
      if (state === 'taken_back') return [];
      const { removed, records } = rest;
      return {
        ...{ org_id: _id, state, requested_at: requested_at.toISOString(), by, due_at: due_at.toISOString() },
        ...(begun_at === undefined ? {} : { begun_at: begun_at.toISOString() }),
        ...(ended_at === undefined ? {} : { ended_at: ended_at.toISOString() }),
        ...(removed === undefined ? {} : { removed }),
        ...(records === undefined ? {} : { records: [...records] }),
      };
    });
    return { deletions };
  },
});
