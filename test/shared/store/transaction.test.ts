import { expect } from 'chai';
import { MongoClient, MongoNetworkError } from 'mongodb';
import { CommitUnknown, inTransaction } from '../../../shared/store/connection/transaction.js';

const labelled = (label: string): Error => {
  const error = new MongoNetworkError('connection closed');
  error.addErrorLabel(label);
  return error;
};
const unknown = 'UnknownTransactionCommitResult';
const transient = 'TransientTransactionError';

type Answer = 'done' | 'never' | Error;

/** Runs a transaction whose writes and commits end with these answers, in order. Returns its outcome and its steps. */
async function transacted(answers: { readonly writes?: readonly Answer[]; readonly commits?: readonly Answer[] }) {
  const [writes, commits] = [[...(answers.writes ?? ['done'])], [...(answers.commits ?? ['done'])]];
  const steps: string[] = [];
  const answered = async (name: string, answer: Answer = 'done'): Promise<void> => {
    steps.push(name);
    if (answer === 'never') await new Promise(() => undefined);
    if (answer instanceof Error) throw answer;
  };
  const session = Object.assign(new MongoClient('mongodb://localhost').startSession(), {
    startTransaction: () => undefined,
    commitTransaction: () => answered('commit', commits.shift()),
    abortTransaction: () => answered('abort'),
    endSession: async () => undefined,
  });
  const client = { startSession: () => session };
  // Only a commit that is never answered may time out, on slow machines too.
  const timeoutMs = commits.includes('never') ? 200 : 60_000;
  const outcome = await inTransaction(client, () => answered('write', writes.shift()), { timeoutMs }).then(
    () => 'committed',
    (error: unknown) => error,
  );
  return { outcome, steps };
}

describe('a transaction', () => {
  it('repeats the commit until MongoDB reports its outcome', async () => {
    const { outcome, steps } = await transacted({ commits: [labelled(unknown), labelled(unknown), 'done'] });
    expect([outcome, steps]).to.deep.equal(['committed', ['write', 'commit', 'commit', 'commit']]);
  });

  it('throws CommitUnknown when its commit was sent and not confirmed', async () => {
    for (const commits of [['never'], [labelled(unknown), 'never'], [new Error('of its own')]] as const) {
      const { outcome } = await transacted({ commits });
      expect(outcome).to.be.instanceOf(CommitUnknown);
    }
  });

  it('is repeated after a transient error, also at its commit', async () => {
    const written = await transacted({ writes: [labelled(transient), 'done'] });
    expect([written.outcome, written.steps]).to.deep.equal(['committed', ['write', 'abort', 'write', 'commit']]);
    const committed = await transacted({ commits: [labelled(transient), 'done'] });
    expect(committed.steps).to.deep.equal(['write', 'commit', 'write', 'commit']);
  });
});
