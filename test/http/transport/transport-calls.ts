import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { type RawCall, rawCall } from '../../support/http/raw-connection.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';

const lead = { company_size: 120 };

/** Raw calls of one record, and a check of what was counted. */
export interface TransportCalls {
  goodBody(): string;
  call(headers?: RawCall['headers'], body?: string): RawCall;
  expectCounted(records: number): Promise<void>;
}

/**
 * Hooks of a suite on the shared service with short timeouts: a workspace for each test.
 * @param set gets the service and the workspace of the next test
 */
export function onShortTimeouts(set: (service: RunningService, own: TestWorkspace) => void): void {
  let service: RunningService;
  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('shortTimeouts');
  });
  beforeEach(async () => set(service, await workspace(service)));
}

/** @param own returns the workspace of the current test */
export function transportCalls(own: () => TestWorkspace): TransportCalls {
  const goodBody = (): string => JSON.stringify({ model_id: own().model._id, records: [lead] });
  const counted = async () => ({ ledger: await own().ledgerSum(), redis: await own().redisUsage() });
  return {
    goodBody,
    call: (headers = {}, body = goodBody()) => ({
      path: '/v1/score',
      headers: {
        Authorization: `Bearer ${own().live.secret}`,
        'Content-Type': 'application/json',
        ...headers,
      },
      body,
    }),
    expectCounted: (records) =>
      eventually(async () => {
        expect(await counted()).to.deep.equal({ ledger: records, redis: { used: records, leased: 0 } });
      }),
  };
}

/** A round trip, after which the gateway has received all that was sent before. */
export async function answersHealth(url: string): Promise<void> {
  const { status } = await rawCall(url, { method: 'GET', path: '/healthz' });
  expect(status).to.equal(200);
}

/** The log lines of level error and above. */
export async function loggedErrors(service: RunningService): Promise<string[]> {
  const lines = (await service.log()).split('\n').filter((line) => line.startsWith('{'));
  return lines.filter((line) => (JSON.parse(line) as { level: number }).level >= 50);
}
