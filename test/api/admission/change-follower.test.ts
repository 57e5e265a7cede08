import { expect } from 'chai';
import { ChangeFollower } from '../../../api/admission/change-follower.js';
import { createLogger } from '../../../shared/process/logger.js';
import type { Change } from '../../../shared/redis/changes.js';
import type { ChangesSince } from '../../../shared/store/connection/change-log.js';

const logger = createLogger('silent', 'test');
const never = 1_000_000;

describe('ChangeFollower', () => {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  function followerOf(since: (number: number | undefined) => Promise<ChangesSince>, readEveryMs = never) {
    const seen: (Change | 'gap')[] = [];
    const follower = new ChangeFollower({
      log: { since },
      logger,
      onChange: (change) => seen.push(change),
      onGap: () => seen.push('gap'),
      readEveryMs,
    });
    stops.push(() => follower.stop());
    return { follower, seen };
  }
  const change = (id: string): Change => ({ kind: 'key', id });

  it('passes on each change once, after a gap at the start', async () => {
    const answers: ChangesSince[] = [
      { last: 7, changes: undefined },
      { last: 9, changes: [change('a'), change('b')] },
      { last: 9, changes: [] },
      { last: 3, changes: undefined },
    ];
    const asked: (number | undefined)[] = [];
    const { follower, seen } = followerOf(async (number) => {
      asked.push(number);
      return answers.shift() ?? { last: 3, changes: [] };
    });
    expect(follower.isFollowing()).to.equal(false);
    await follower.start();
    for (let reads = 0; reads < 4; reads += 1) await follower.read();
    expect(asked).to.deep.equal([undefined, 7, 9, 9, 3]);
    expect(seen).to.deep.equal(['gap', change('a'), change('b'), 'gap']);
    expect(follower.isFollowing()).to.equal(true);
  });

  it('reads again when a read is wanted while another one has begun', async () => {
    const waiting: (() => void)[] = [];
    const { follower } = followerOf(async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { last: 1, changes: [] };
    });
    const first = follower.read();
    const second = follower.read();
    waiting[0]?.();
    await new Promise(setImmediate);
    expect(waiting).to.have.length(2);
    waiting[1]?.();
    await Promise.all([first, second]);
    expect(waiting).to.have.length(2);
  });

  it('does not follow while the log cannot be read, and asks from the same number later', async () => {
    const asked: (number | undefined)[] = [];
    let failing = true;
    const { follower } = followerOf(async (number) => {
      asked.push(number);
      if (failing) throw new Error('no primary');
      return { last: 5, changes: number === undefined ? undefined : [] };
    });
    await follower.start();
    expect(follower.isFollowing()).to.equal(false);
    failing = false;
    await follower.read();
    expect(follower.isFollowing()).to.equal(true);
    failing = true;
    await follower.read();
    failing = false;
    await follower.read();
    expect(asked).to.deep.equal([undefined, undefined, 5, 5]);
  });

  it('reads repeatedly', async () => {
    let reads = 0;
    const done = new Promise<void>((resolve) => {
      const { follower } = followerOf(async () => {
        reads += 1;
        if (reads === 4) resolve();
        return { last: 1, changes: [] };
      }, 5);
      void follower.start();
    });
    await done;
  });
});
