import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { expect } from 'chai';
import type { Feature } from '../../../shared/bundle/manifest/manifest.js';
import { bestMs } from '../../support/beats.js';
import { printFigures } from '../../support/faults/fault-figures.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../../support/service/service.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { threadCpuMsOf } from '../../support/thread-cpu.js';
import { type HostileBody, largeBodies, wideBodies } from './hostile-bodies.js';
import { probeOptions } from './loop-probe.js';

/*
 * The limit is CPU time of the gateway's main thread, or of its thread for large calls. Other work on the machine must
 * not fail a test. The limit is relative to parsing the slowest allowed batch at once, measured here. The gateway
 * divides such a batch.
 */
const maxTimesSlowestParse = 1.5;
/** Replies are written in smaller steps. */
const maxTimesForReplies = 0.6;
const parses = 3;

describe('the event loop of a gateway', function () {
  this.timeout(300_000);
  let service: RunningService;
  let own: TestWorkspace;
  let maxMs: number;
  const measured = new Map<string, number>();

  before(async () => {
    service = await runningService({ gateways: 1, environment: { NODE_OPTIONS: probeOptions } });
    own = await workspace(service, { plan: 'enterprise', limit: 1e9 });
    maxMs = maxTimesSlowestParse * slowestParseMs();
  });
  after(async function () {
    this.timeout(startTimeoutMs);
    const worst = [...measured].sort(([, one], [, other]) => other - one).slice(0, 8);
    printFigures({ fault: 'bodies that block the event loop', limit_ms: maxMs, ms: Object.fromEntries(worst) });
    await service?.stop();
  });

  /** The longest time since the last call in which an event loop of the gateway ran no timer, ms. */
  function longestIterationMs(): Promise<number> {
    const { process: gateway } = service.stack.gateways[0] ?? expect.fail('no gateway');
    return new Promise((resolve) => {
      const listener = (message: unknown) => {
        if (typeof message !== 'object' || message === null || !('maxMs' in message)) return;
        gateway.off('message', listener);
        resolve(Number(message.maxMs));
      };
      gateway.on('message', listener);
      gateway.send('probe');
    });
  }

  /** Sends a body, and expects a clear answer and short iterations of the event loop. */
  async function send(
    { name, path, body, type = 'application/json', headers }: HostileBody,
    mostMs = maxMs,
    attempts = 3,
  ): Promise<void> {
    const iterationMs = await bestMs(
      mostMs,
      async () => {
        await longestIterationMs();
        const reply = await fetch(`${service.url(0)}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${own.live.secret}`, 'content-type': type, ...headers },
          body: new Uint8Array(body),
        });
        const text = await reply.text();
        const code: unknown = reply.status === 200 ? undefined : JSON.parse(text).error.code;
        expect(`${reply.status} ${code}`, name).to.be.oneOf([
          '200 undefined',
          '400 bad_request',
          '400 record_limit_exceeded',
          '422 bad_request',
        ]);
        return longestIterationMs();
      },
      attempts,
    );
    measured.set(name, Math.round(iterationMs));
    expect(iterationMs, `${name}: ms of CPU time in one iteration`).to.be.below(mostMs);
  }

  it('is not blocked for long by wide records, in any format', async () => {
    for (const body of wideBodies(own.model._id)) await send(body);
  });

  it('is not blocked for long by large, deep or broken bodies', async () => {
    for (const body of largeBodies(own.model._id)) await send(body);
  });

  it('is not blocked for long by the same bodies in gzip', async () => {
    const compress = promisify(gzip);
    for (const each of largeBodies(own.model._id)) {
      const body = await compress(each.body);
      await send({ ...each, name: `${each.name}, gzip`, body, headers: { 'content-encoding': 'gzip' } });
    }
  });

  it('is not blocked for long by replies of megabytes, stored and replayed', async () => {
    const words = (field: number): Feature => ({
      ...{ field: `${field}`.padEnd(255, '問'), label: `${field}`.padEnd(255, '答'), aliases: [`q${field}`] },
      ...{ type: 'number', columns: [field], impute: 0 },
    });
    const features = Array.from({ length: 10 }, (_, field) => words(field));
    const model = await own.addModel({ bundle: sampleBundle({ features, weights: features.map(() => 1) }) });
    const lead = Object.fromEntries(features.map((_, field) => [`q${field}`, 0.1]));
    const bodyOf = (records: number) =>
      Buffer.from(JSON.stringify({ model_id: model._id, explain: true, records: Array(records).fill(lead) }));
    const stored = { path: '/v1/score', body: bodyOf(850), headers: { 'idempotency-key': 'large' } } as const;
    const mostMs = (maxTimesForReplies / maxTimesSlowestParse) * maxMs;
    await send({ name: 'a reply of 18 MiB', path: '/v1/score', body: bodyOf(1_000) }, mostMs);
    // A second attempt would read the stored reply.
    await send({ name: 'a stored reply of 15 MiB', ...stored }, mostMs, 1);
    await send({ name: 'a replayed reply of 15 MiB', ...stored });
  });
});

/** CPU time of parsing a batch of 290,000 different names, the median of three, ms. */
function slowestParseMs(): number {
  const names = Array.from({ length: 1_000 }, (_, record) =>
    Array.from({ length: 290 }, (__, field) => `${record}_${field}`),
  );
  const tookMs = Array.from({ length: parses }, (_, round) => {
    const text = JSON.stringify(
      names.map((fields) => Object.fromEntries(fields.map((name) => [`${round}_${name}`, 1]))),
    );
    return threadCpuMsOf(() => JSON.parse(text));
  });
  return tookMs.sort((one, other) => one - other)[1] ?? 0;
}
