import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { toleranceMs } from '../../scripts/chaos/check/watch-processors.js';
import { FaultProxy } from '../../scripts/servers/fault-proxy.js';
import { type ServiceProcess, startService } from '../../scripts/servers/service-process.js';
import { eventually } from '../support/eventually.js';
import { expectExact, expectNoOtherDeath } from '../support/faults/fault-checks.js';
import { printFigures } from '../support/faults/fault-figures.js';
import {
  AnswerClock,
  type CallOutcome,
  recordsAnswered,
  recoveryMs,
  statuses,
  timed,
  underLoad,
} from '../support/faults/fault-load.js';
import {
  type FaultService,
  sharedDeadlineMs,
  sharedFaultService,
  sharedLeaseMs,
} from '../support/faults/fault-service.js';
import { ProcessorWatch } from '../support/faults/processor-watch.js';
import { scored } from '../support/http/score-reply.js';
import { startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

const leads = [{ company_size: 120 }, { company_size: 3 }];
/** A reply stream blocks for two seconds, and its connection is replaced at most four seconds later. */
const recoveredWithinMs = 8_000;
const exactWithinMs = 2 * (sharedLeaseMs + 6_000);

describe('half-open connections of a gateway to Redis', () => {
  let service: FaultService;
  let proxy: FaultProxy;
  let gateway: ServiceProcess;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedFaultService();
    proxy = await FaultProxy.start(() => Number(new URL(service.cluster.redisUrl).port));
    gateway = await startService({
      kind: 'gateway',
      environment: {
        ...{ PORT: '0', ADMIN_PORT: '0', HOST: undefined, LOG_LEVEL: 'warn', KEY_PEPPER: service.keyPepper },
        REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
        MONGODB_URL: service.cluster.mongoUrl,
        CLOCK_OFFSET_MS: String(Math.round(service.clock.now() - Date.now())),
        REQUEST_TIMEOUT_MS: String(sharedDeadlineMs),
        WEBHOOK_TIMEOUT_MS: String(sharedDeadlineMs),
      },
      log: 'ignore',
    });
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    await gateway?.stop();
    await proxy?.stop();
  });
  afterEach(() => expectNoOtherDeath(service));

  it('are replaced, and the gateway is not ready meanwhile', async function () {
    this.timeout(startTimeoutMs);
    const { url } = gateway;
    if (url === undefined) throw new Error('the gateway has no address');
    const own = await workspace(service);
    const score = () => own.score(leads, { url });
    const single = async (): Promise<CallOutcome> => {
      const outcome = await timed(score);
      scored(outcome.reply ?? expect.fail('no answer'));
      return outcome;
    };
    await eventually(single, 5_000);
    const counted = await expectExact(own, exactWithinMs);
    let lostMs = 0;
    const reasons = new Set<string>();
    const work = async (): Promise<void> => {
      await pause(300);
      proxy.loseAll();
      lostMs = performance.now();
      while (performance.now() < lostMs + recoveredWithinMs + 2_000) {
        reasons.add((await (await fetch(`${url}/readyz`)).text()).trim());
        await pause(100);
      }
    };
    const [clock, [processors, outcomes]] = await AnswerClock.during(service, sharedDeadlineMs, () =>
      ProcessorWatch.during(service, 'all', () => underLoad(score, work)),
    );
    const recovered = recoveryMs(outcomes, lostMs);
    const withoutProcessorMs = processors.maxWaitMs(lostMs, lostMs + recovered);
    printFigures({
      fault: 'half-open connections to Redis',
      answers: statuses(outcomes),
      slowest_ms: Math.max(...outcomes.map(({ tookMs }) => tookMs)),
      recovered_ms: recovered,
      within_ms: recoveredWithinMs,
      without_processor_ms: withoutProcessorMs,
    });
    clock.expectInTime(outcomes);
    expect([...reasons]).to.include('Redis does not answer');
    expect((await fetch(`${url}/readyz`)).status).to.equal(200);
    expect(recovered, 'ms until all calls succeeded again').to.be.below(
      recoveredWithinMs + toleranceMs(withoutProcessorMs, recoveredWithinMs),
    );
    await expectExact(own, exactWithinMs, counted + recordsAnswered(outcomes, leads.length));
  });
});
