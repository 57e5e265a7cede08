import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { TurnGroups } from '../../../shared/async/turn-groups.js';

/** Answers each call with itself and the group that it was in, and remembers the groups. */
function recorded(maxCalls?: number) {
  const sent: string[][] = [];
  const send = async (calls: readonly string[], first: string) => {
    expect(calls[0]).to.equal(first);
    sent.push([...calls]);
    const group = sent.length;
    return calls.map((call) => `${call} in ${group}`);
  };
  return { sent, groups: new TurnGroups<string, string>(send, maxCalls) };
}

describe('turn groups', () => {
  it('sends the calls of a turn together, each name by itself, in order, and gives each its own reply', async () => {
    const { sent, groups } = recorded();
    const replies = Promise.all(
      [...'abcde'].map((call) => groups.join('ace'.includes(call) ? 'one' : 'other', call)),
    );
    expect(await replies).to.deep.equal(['a in 1', 'b in 2', 'c in 1', 'd in 2', 'e in 1']);
    expect(sent).to.deep.equal([
      ['a', 'c', 'e'],
      ['b', 'd'],
    ]);
  });

  it('includes what joins after promises have been waited for, and nothing of the next turn', async () => {
    const { sent, groups } = recorded();
    const first = groups.join('name', 'a');
    for (let wait = 0; wait < 10; wait += 1) await undefined;
    const second = groups.join('name', 'b');
    await nextTurn();
    const third = groups.join('name', 'c');
    await Promise.all([first, second, third]);
    expect(sent).to.deep.equal([['a', 'b'], ['c']]);
  });

  it('sends a call that is alone in the turn in which it joined', async () => {
    const { sent, groups } = recorded();
    const alone = groups.join('name', 'a');
    await nextTurn();
    expect(sent).to.deep.equal([['a']]);
    await alone;
  });

  it('does not wait for the group before', async () => {
    const waiting: (() => void)[] = [];
    const groups = new TurnGroups<string, string>(
      (calls) => new Promise((resolve) => waiting.push(() => resolve(calls))),
    );
    const replies = [groups.join('name', 'a')];
    await nextTurn();
    replies.push(groups.join('name', 'b'));
    await nextTurn();
    expect(waiting).to.have.length(2);
    for (const answer of waiting) answer();
    expect(await Promise.all(replies)).to.deep.equal(['a', 'b']);
  });

  it('sends a full group at once, and what comes after it in order', async () => {
    const { sent, groups } = recorded(2);
    const replies = [...'abcde'].map((call) => groups.join('name', call));
    expect(sent).to.deep.equal([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    expect((await Promise.all(replies)).at(-1)).to.equal('e in 3');
    expect(sent[2]).to.deep.equal(['e']);
  });

  it('fails each call of a group with what sending it failed with, and no call of another', async () => {
    const failure = new Error('no connection');
    const groups = new TurnGroups<string, string>(async (calls, first) => {
      if (first === 'a') throw failure;
      return calls;
    });
    const settled = await Promise.allSettled([
      groups.join('bad', 'a'),
      groups.join('good', 'b'),
      groups.join('bad', 'c'),
    ]);
    expect(settled).to.deep.equal([
      { status: 'rejected', reason: failure },
      { status: 'fulfilled', value: 'b' },
      { status: 'rejected', reason: failure },
    ]);
    expect(await groups.join('bad', 'd')).to.equal('d');
  });

  for (const [how, replies] of Object.entries({ few: ['x'], many: ['x', 'y', 'z'] }))
    it(`answers no call of a group that got too ${how} replies`, async () => {
      const groups = new TurnGroups<string, string>(async () => replies);
      const settled = await Promise.allSettled([groups.join('name', 'a'), groups.join('name', 'b')]);
      for (const outcome of settled) expect(outcome).to.have.property('reason').that.is.instanceOf(TypeError);
    });
});
