import { expect } from 'chai';
import { JobRound } from '../../../../api/bulk/turns/job-round.js';

const jobs = ['a1', 'a2', 'a3', 'b1'].map((_id) => ({ _id, org: _id.slice(0, 1) }));
const busy = { hasFreeTurn: false, waiting: 0 };
const idle = { hasFreeTurn: true, waiting: 0 };
const crowded = { hasFreeTurn: false, waiting: 3 };

describe('the round of bulk jobs', () => {
  it('has the oldest job of each organisation while the runner is busy', () => {
    const round = new JobRound();
    expect([...round.choose(jobs, busy)]).to.deep.equal(['a1', 'b1']);
    expect([...round.choose(jobs, busy)]).to.deep.equal(['a1', 'b1']);
  });

  it('gets another job of each organisation at each poll while the runner has nothing to do', () => {
    const round = new JobRound();
    expect([...round.choose(jobs, idle)]).to.deep.equal(['a1', 'a2', 'b1']);
    expect([...round.choose(jobs, busy)]).to.deep.equal(['a1', 'a2', 'b1']);
    expect([...round.choose(jobs, idle)]).to.deep.equal(['a1', 'a2', 'a3', 'b1']);
    expect([...round.choose(jobs, idle)]).to.deep.equal(['a1', 'a2', 'a3', 'b1']);
  });

  it('loses all but the oldest of each organisation when jobs wait for a turn', () => {
    const round = new JobRound();
    round.choose(jobs, idle);
    expect(round.mayGoOn('a2', 1)).to.equal(true);
    expect([...round.choose(jobs, crowded)]).to.deep.equal(['a1', 'b1']);
    expect(round.mayGoOn('a1', 1)).to.equal(true);
    expect(round.mayGoOn('a2', 1)).to.equal(false);
  });

  it('lets a job go on that another runner has added, while none waits', () => {
    expect(new JobRound().mayGoOn('a2', 0)).to.equal(true);
    expect(new JobRound().mayGoOn('a2', 1)).to.equal(false);
  });
});
