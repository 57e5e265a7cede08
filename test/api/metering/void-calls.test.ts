import { expect } from 'chai';
import { type CallOfModel, CallVoider, type CallVoiderOptions } from '../../../api/metering/void-calls.js';
import { createLogger } from '../../../shared/process/logger.js';
import { QuotaLeaseLost } from '../../../shared/quota/codes.js';

const callOf = (bucket: 'live' | 'test' = 'live'): CallOfModel => ({
  counter: { organisationId: 'org', bucket, month: '2026-02' },
  callId: 'call',
  modelId: 'mdl',
});

/** Notes the steps; each fails as often as the test says. */
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
    latest: { forget: async (_org: string, models: readonly string[]) => step(`forget ${models.join(' ')}`) },
    logger: createLogger('silent', 'test'),
  };
  return { steps, callVoider: new CallVoider(options as unknown as CallVoiderOptions) };
}

describe('a voided call', () => {
  it('is void before its latest scores are invalidated, and these before its release', async () => {
    const { steps, callVoider } = callVoiderWith({});
    callVoider.begin(callOf());
    await callVoider.stop();
    expect(steps).to.deep.equal(['void', 'forget mdl', 'release']);
    expect(callVoider.pending).to.equal(0);
  });

  it('leaves the latest scores alone when it has a test key', async () => {
    const { steps, callVoider } = callVoiderWith({});
    callVoider.begin(callOf('test'));
    await callVoider.stop();
    expect(steps).to.deep.equal(['void', 'release']);
  });

  it('is retried until it succeeds, and a stopping gateway waits for it', async () => {
    const { steps, callVoider } = callVoiderWith({ failures: { void: 1, release: 1 } });
    callVoider.begin(callOf());
    expect(callVoider.pending).to.equal(1);
    await callVoider.stop();
    expect(steps).to.deep.equal(['void fails', 'void', 'forget mdl', 'release fails', 'void', 'forget mdl', 'release']);
    expect(callVoider.pending).to.equal(0);
  });

  it('is settled when its reply was replayed, and stays as it is when its lease is gone', async () => {
    const stays = callVoiderWith({ stays: true });
    stays.callVoider.begin(callOf());
    await stays.callVoider.stop();
    expect(stays.steps).to.deep.equal(['void', 'forget mdl', 'settle']);
    const lost = callVoiderWith({ stays: true, settle: () => Promise.reject(new QuotaLeaseLost('gone')) });
    lost.callVoider.begin(callOf());
    await lost.callVoider.stop();
    expect(lost.steps).to.deep.equal(['void', 'forget mdl', 'settle']);
  });

  it('invalidates only the latest scores when the call stands', async () => {
    const { steps, callVoider } = callVoiderWith({ failures: { 'forget mdl': 1 } });
    callVoider.invalidateScores(callOf());
    await callVoider.stop();
    expect(steps).to.deep.equal(['forget mdl fails', 'forget mdl']);
  });
});
