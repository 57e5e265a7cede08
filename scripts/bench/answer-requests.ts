import type { Answer, LoadPlan, LoadReport, Preparation, Request } from './load-messages.js';

/** What a measuring process can be asked to do. */
export interface MeasuringWork<Prepared> {
  readonly prepare: (preparation: Preparation) => Promise<Prepared>;
  readonly introduce: (prepared: Prepared) => Promise<void>;
  readonly run: (plan: LoadPlan, prepared: Prepared) => Promise<LoadReport>;
}

/** Answers the requests that come over the process channel, one after the other; ends when the channel does. */
export function answerRequests<Prepared>(work: MeasuringWork<Prepared>): void {
  let prepared: Prepared | undefined;

  async function answer(request: Request): Promise<Answer> {
    if (request.kind === 'prepare') {
      prepared = await work.prepare(request.preparation);
      return { kind: 'done' };
    }
    if (prepared === undefined) throw new Error('asked to measure before being prepared');
    if (request.kind === 'run') return { kind: 'measured', report: await work.run(request.plan, prepared) };
    await work.introduce(prepared);
    return { kind: 'done' };
  }

  process.on('message', (message) => {
    answer(message as Request)
      .catch((error: unknown): Answer => {
        return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
      })
      .then((reply) => process.send?.(reply));
  });
  process.on('disconnect', () => process.exit(0));
  // Ctrl-C reaches the whole group; the benchmark ends this process when it is done with it.
  process.on('SIGINT', () => undefined);
}
