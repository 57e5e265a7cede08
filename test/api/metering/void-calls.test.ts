import { expect } from 'chai';
import { CallVoider, type CallVoiderOptions, type VoidableCall } from '../../../api/metering/void-calls.js';
import { createLogger } from '../../../shared/process/logger.js';
import { QuotaLeaseLost } from '../../../shared/quota/codes.js';

const call: VoidableCall = {
  counter: { organisationId: 'org', bucket: 'live', month: '2026-02' },
  callId: 'call',
};

/** Collects the steps. Each fails as many times as `failures` says. */
function callVoiderWith(how: {
  readonly stays?: boolean;
  readonly settle?: () => Promise<unknown>;
  readonly failures?: Readonly<Record<string, number>>;
}) {
  const { stays = false, settle = async () => undefined } = how;
  const steps: string[] = [];
  const left = { ...how.failures };
  const step = (name: string): void => {
    const failures = left[name] ?? 0;
    left[name] = failures - 1;
    steps.push(failures > 0 ? `${name} fails` : name);
    if (failures > 0) throw new Error('the database is away');
  };
  const options = {
    voidCall: async () => {
      step('void');
      return !stays;
    },
    quota: {
      release: async () => {
        step('release');
        return true;
      },
      settle: () => {
        step('settle');
        return settle();
      },
    },
    latest: { forget: async (organisationId: string) => step(`forget ${organisationId}`) },
    logger: createLogger('silent', 'test'),
  };
  return { steps, callVoider: new CallVoider(options as unknown as CallVoiderOptions) };
}

describe('a voided call', () => {
  it('is voided, invalidated and released in this order, again after each failure, before the gateway stops', async () => {
    const { steps, callVoider } = callVoiderWith({ failures: { void: 1, release: 1 } });
    callVoider.begin(call);
    expect(callVoider.pending).to.equal(1);
    await callVoider.stop();
    expect(steps).to.deep.equal(['void fails', 'void', 'forget org', 'release fails', 'void', 'forget org', 'release']);
    expect(callVoider.pending).to.equal(0);
  });

  it('stays settled without a retry when its reply was replayed and its lease is gone', async () => {
    const { steps, callVoider } = callVoiderWith({
      stays: true,
      settle: () => Promise.reject(new QuotaLeaseLost('gone')),
    });
    callVoider.begin(call);
    await callVoider.stop();
    expect(steps).to.deep.equal(['void', 'forget org', 'settle']);
    expect(callVoider.pending).to.equal(0);
  });
});
