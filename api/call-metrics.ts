import type { Middleware } from 'koa';
import { Counter, Histogram, type Registry } from 'prom-client';

/** What balancers ask all the time is no call. */
const probes: ReadonlySet<unknown> = new Set(['/healthz', '/readyz']);

/** What the gateway counts of its calls, for Prometheus. No key, body, or field value is ever a label. */
export class CallMetrics {
  private readonly calls: Counter<'path' | 'status' | 'code'>;
  private readonly durations: Histogram<'path'>;

  constructor(registry: Registry) {
    this.calls = new Counter({
      name: 'leadscore_calls_total',
      help: 'Calls answered, by path, status, and code of the error ("ok" where there is none).',
      labelNames: ['path', 'status', 'code'],
      registers: [registry],
    });
    this.durations = new Histogram({
      name: 'leadscore_call_seconds',
      help: 'Seconds from the first byte of a request to its answer, by path.',
      labelNames: ['path'],
      buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    });
  }

  /** Counts and times every call but probes. Paths that match no route are counted as one. */
  middleware(): Middleware {
    return async (context, next) => {
      const startMs = performance.now();
      await next();
      const matched: unknown = context._matchedRoute;
      if (probes.has(matched)) return;
      const path = typeof matched === 'string' ? matched : 'other';
      const code = typeof context.state.errorCode === 'string' ? context.state.errorCode : 'ok';
      this.calls.inc({ path, status: String(context.status), code });
      this.durations.observe({ path }, (performance.now() - startMs) / 1000);
    };
  }
}
