import type { Middleware } from 'koa';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { lanes } from '../../shared/contract/lanes.js';
import type { CallVoider } from '../admission/void-calls.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import type { LargeCalls } from '../large-calls/large-calls.js';

/** Balancers probe these paths all the time, so they do not count as calls. */
const probes: ReadonlySet<unknown> = new Set(['/healthz', '/readyz']);

/**
 * Counts and times all calls except probes, for Prometheus. Paths without a route share the label "other". Labels never
 * contain keys, bodies or field values.
 */
export function observeCalls(registry: Registry): Middleware {
  const calls = new Counter({
    name: 'leadscore_calls_total',
    help: 'Calls answered, by path, status and error code ("ok" for success).',
    labelNames: ['path', 'status', 'code'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'leadscore_call_seconds',
    help: 'Seconds from the first byte of a request to its answer, by path.',
    labelNames: ['path'],
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  return async (context, next) => {
    const startMs = performance.now();
    await next();
    const matched: unknown = context._matchedRoute;
    if (probes.has(matched)) return;
    const path = typeof matched === 'string' ? matched : 'other';
    const code = typeof context.state.errorCode === 'string' ? context.state.errorCode : 'ok';
    calls.inc({ path, status: String(context.status), code });
    durations.observe({ path }, (performance.now() - startMs) / 1000);
  };
}

/** Prometheus gauges of a gateway and its thread for large calls, read at each scrape. */
export function observeGateway(
  registry: Registry,
  services: { readonly dispatcher: Dispatcher; readonly callVoider: CallVoider; readonly largeCalls: LargeCalls },
): void {
  const { dispatcher, callVoider, largeCalls } = services;
  new Gauge({
    name: 'leadscore_chunks_waiting',
    help: 'Chunks of records that wait in this gateway for room in a lane.',
    labelNames: ['lane'],
    registers: [registry],
    async collect() {
      const { chunksWaiting } = await largeCalls.figures();
      for (const lane of lanes) this.set({ lane }, dispatcher.waiting(lane) + chunksWaiting[lane]);
    },
  });
  new Counter({
    name: 'leadscore_thread_busy_seconds_total',
    help: 'Seconds in which the event loop of each thread of this gateway was busy.',
    labelNames: ['thread'],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ thread: 'main' }, performance.eventLoopUtilization().active / 1000);
      this.inc({ thread: 'large_calls' }, largeCalls.busyMs / 1000);
    },
  });
  new Gauge({
    name: 'leadscore_calls_to_void',
    help: 'Calls that were recorded too late to be answered and are not void in the ledger yet.',
    registers: [registry],
    async collect() {
      const { callsToVoid } = await largeCalls.figures();
      this.set(callVoider.pending + callsToVoid);
    },
  });
}
