import { expect } from 'chai';
import { CallVoider } from '../../../api/admission/void-calls.js';
import { createLogger } from '../../../shared/process/logger.js';
import type { VoidableCall } from '../../../shared/quota/voids.js';
import { eventually } from '../../support/eventually.js';

const callOf = (callId: string): VoidableCall => ({
  counter: { organisationId: 'org', bucket: 'live', month: '2026-02' },
  callId,
});

/** A voider whose steps run these functions. Collects the steps. */
function callVoiderWith(how: Partial<Record<'add' | 'void', (callId: string) => Promise<void>>> = {}) {
  const steps: string[] = [];
  const step = (name: 'add' | 'void') => async (call: VoidableCall) => {
    steps.push(name);
    await how[name]?.(call.callId);
  };
  const voids = { add: step('add'), void: step('void'), invalidateScores: async () => undefined };
  return { steps, callVoider: new CallVoider({ voids, logger: createLogger('silent', 'test') }) };
}

/** Fails the first time. */
function failingOnce(): () => Promise<void> {
  let calls = 0;
  return async () => {
    calls += 1;
    if (calls === 1) throw new Error('the database is away');
  };
}

describe('CallVoider', () => {
  it('stores and voids a call, each again after a failure, before the gateway stops', async () => {
    const { steps, callVoider } = callVoiderWith({ add: failingOnce(), void: failingOnce() });
    const stored = callVoider.begin(callOf('call'));
    expect(callVoider.pending).to.equal(1);
    await callVoider.stop();
    await stored;
    expect(steps.toSorted()).to.deep.equal(['add', 'add', 'void', 'void']);
    expect(callVoider.pending).to.equal(0);
  });

  it('begin waits until the call is in Redis, and not for the void', async () => {
    const { callVoider } = callVoiderWith({ void: () => new Promise(() => undefined) });
    await callVoider.begin(callOf('call'));
    expect(callVoider.pending).to.equal(1);
  });

  it('voids eight calls at once, stores the others in Redis, and is full at 256', async () => {
    const ends: (() => void)[] = [];
    const { steps, callVoider } = callVoiderWith({ void: () => new Promise((end) => ends.push(end)) });
    const begin = (count: number) =>
      Promise.all(Array.from({ length: count }, (_, index) => callVoider.begin(callOf(`call ${index}`))));
    await begin(255);
    expect(callVoider.isFull).to.equal(false);
    await begin(1);
    expect(callVoider.isFull).to.equal(true);
    const countOf = (name: string) => steps.filter((step) => step === name).length;
    expect([countOf('add'), countOf('void')]).to.deep.equal([256, 8]);
    await eventually(() => {
      for (const end of ends.splice(0)) end();
      expect(callVoider.pending).to.equal(0);
    });
    expect(countOf('void')).to.equal(256);
    expect(callVoider.isFull).to.equal(false);
  });
});
