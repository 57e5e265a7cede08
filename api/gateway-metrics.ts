import { Gauge, type Registry } from 'prom-client';
import { lanes } from '../shared/score-job.js';
import type { Dispatcher } from './dispatch/dispatcher.js';
import type { TakeBacks } from './record/take-backs.js';

/** What a gateway holds up at the moment of a scrape, for Prometheus. */
export function observeGateway(
  registry: Registry,
  { dispatcher, takeBacks }: { readonly dispatcher: Dispatcher; readonly takeBacks: TakeBacks },
): void {
  new Gauge({
    name: 'leadscore_chunks_waiting',
    help: 'Chunks of records that wait in this gateway for a place in a lane.',
    labelNames: ['lane'],
    registers: [registry],
    collect() {
      for (const lane of lanes) this.set({ lane }, dispatcher.waiting(lane));
    },
  });
  new Gauge({
    name: 'leadscore_calls_to_take_back',
    help: 'Calls that were recorded too late to be answered and are still to be taken out of the ledger.',
    registers: [registry],
    collect() {
      this.set(takeBacks.pending);
    },
  });
}
