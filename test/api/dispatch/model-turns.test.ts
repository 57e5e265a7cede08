import { expect } from 'chai';
import { ModelTurns } from '../../../api/dispatch/model-turns.js';

/** Turns whose chunks are answered when the test says so; `begun` names those that were sent, in order. */
function heldTurns() {
  const turns = new ModelTurns();
  const begun: string[] = [];
  const answers = new Map<string, (error?: Error) => void>();
  const ask = (name: string, model = 'm') =>
    turns.run(
      model,
      () =>
        new Promise<string>((resolve, reject) => {
          begun.push(name);
          answers.set(name, (error) => (error ? reject(error) : resolve(`${name} answered`)));
        }),
    );
  return { begun, ask, answer: (name: string, error?: Error) => answers.get(name)?.(error) };
}

const turnOfTheLoop = () => new Promise((resolve) => setImmediate(resolve));

describe('ModelTurns', () => {
  it('sends at once when nothing of the model is under way, and gives the answer', async () => {
    const { begun, ask, answer } = heldTurns();
    const first = ask('a');
    expect(begun).to.deep.equal(['a']);
    answer('a');
    expect(await first).to.equal('a answered');
    void ask('b');
    expect(begun).to.deep.equal(['a', 'b']);
  });

  it('holds the next chunk of a model until the one before it was answered', async () => {
    const { begun, ask, answer } = heldTurns();
    void ask('a');
    const second = ask('b');
    await turnOfTheLoop();
    expect(begun).to.deep.equal(['a']);
    answer('a');
    await turnOfTheLoop();
    expect(begun).to.deep.equal(['a', 'b']);
    answer('b');
    expect(await second).to.equal('b answered');
  });

  it('holds one chunk only: more would be full, and gain nothing', async () => {
    const { begun, ask, answer } = heldTurns();
    void ask('a');
    void ask('b');
    void ask('c');
    expect(begun).to.deep.equal(['a', 'c']);
    answer('a');
    await turnOfTheLoop();
    expect(begun).to.deep.equal(['a', 'c', 'b']);
  });

  it('holds back no other model', () => {
    const { begun, ask } = heldTurns();
    void ask('a', 'm');
    void ask('b', 'n');
    expect(begun).to.deep.equal(['a', 'b']);
  });

  it('holds nothing back for longer than a tenth of a second, and once', async () => {
    const { begun, ask } = heldTurns();
    const startMs = performance.now();
    void ask('lost');
    void ask('b');
    while (begun.length < 2) await turnOfTheLoop();
    expect(performance.now() - startMs).to.be.within(90, 5_000);
    void ask('c');
    while (begun.length < 3) await turnOfTheLoop();
    expect(begun).to.deep.equal(['lost', 'b', 'c']);
  });

  it('lets the next chunk go when one fails, and fails with it no other', async () => {
    const { begun, ask, answer } = heldTurns();
    const first = ask('a').catch((error: unknown) => error);
    const second = ask('b');
    answer('a', new Error('lost'));
    expect(await first).to.be.instanceOf(Error);
    await turnOfTheLoop();
    expect(begun).to.deep.equal(['a', 'b']);
    answer('b');
    expect(await second).to.equal('b answered');
  });
});
