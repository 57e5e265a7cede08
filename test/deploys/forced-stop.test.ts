import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { childProcessIds } from '../../scripts/servers/process-usage.js';
import { signal } from '../../scripts/servers/server-process.js';
import { projectFile } from '../../shared/process/project-root.js';
import { eventually } from '../support/eventually.js';
import { freeze } from '../support/faults/stall.js';
import { RawConnection } from '../support/http/raw-connection.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { workspace } from '../support/service/workspace.js';

describe('a process that is told to stop', () => {
  describe('and has something to finish', () => {
    let service: RunningService;

    before(async function () {
      this.timeout(startTimeoutMs);
      service = await runningService({ gateways: 1, environment: { LOG_LEVEL: 'info' } });
    });
    after(async function () {
      this.timeout(startTimeoutMs);
      await service?.stop();
    });

    const hasBegunToStop = (process: string) =>
      eventually(async () =>
        expect(await service.log()).to.match(new RegExp(`"process":"${process}".*"msg":"stopping"`)),
      );

    it('gateway: finishes a call that is still arriving; the second SIGTERM ends it at once', async function () {
      this.timeout(startTimeoutMs);
      const own = await workspace(service);
      const gateway = await service.startGateway();
      const body = JSON.stringify({ model_id: own.model._id, records: [{ company_size: 120 }] });
      const callers = await Promise.all([1, 2].map(() => RawConnection.open(gateway.url ?? '')));
      const [first, second] = callers;
      for (const caller of callers)
        caller.send(
          `POST /v1/score HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${own.live.secret}\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
        );
      gateway.process.kill('SIGTERM');
      await hasBegunToStop('gateway');
      first?.send(body.slice(10));
      const reply = await first?.reply();
      expect(reply?.status).to.equal(200);
      expect(reply?.headers.get('connection')).to.equal('close');
      expect(gateway.process.exitCode, 'it waits for the second call').to.equal(null);
      const againMs = performance.now();
      gateway.process.kill('SIGTERM');
      expect(await gateway.ended).to.equal('exit code 1');
      expect(performance.now() - againMs).to.be.below(1_000);
      for (const caller of callers) caller.destroy();
      expect(second?.unread()).to.equal('');
      expect(await own.ledgerSum()).to.equal(1);
    });

    it('pool: waits for a worker that is held up; the second SIGTERM ends it, and its workers', async function () {
      this.timeout(startTimeoutMs);
      const { pool } = service.stack;
      const workers = childProcessIds(pool.pid);
      expect(workers).to.have.length(2);
      try {
        await Promise.all(workers.map(freeze));
        pool.process.kill('SIGTERM');
        await hasBegunToStop('pool');
        pool.process.kill('SIGTERM');
        expect(await pool.ended).to.equal('exit code 1');
      } finally {
        for (const pid of workers) signal(pid, 'SIGCONT');
      }
      await eventually(() => {
        for (const pid of workers) expect(() => process.kill(pid, 0)).to.throw();
      }, 5_000);
    });
  });

  describe('and cannot', () => {
    /** Times are a hundredth of what they are. */
    const hurried = 100;

    /** Runs a process that stops a part which never stops. Gives how it ended, and after how long. */
    async function stopStuck(): Promise<{ code: unknown; tookMs: number }> {
      const module = (path: string) => JSON.stringify(pathToFileURL(projectFile(`dist/shared/${path}`)).href);
      const program = `
        import { Lifecycle } from ${module('lifecycle.js')};
        import { createLogger } from ${module('logger.js')};
        const { setTimeout } = globalThis;
        globalThis.setTimeout = (work, ms) => setTimeout(work, ms / ${hurried});
        const lifecycle = new Lifecycle(createLogger('silent', 'test'));
        lifecycle.onStop('stuck', () => new Promise(() => undefined));
        lifecycle.listenForSignals();
        setInterval(() => undefined, 1_000);
        process.stdout.write('ready');`;
      const child = spawn(process.execPath, ['--input-type=module', '--eval', program]);
      await once(child.stdout, 'data');
      const startMs = performance.now();
      child.kill('SIGTERM');
      const [code] = await once(child, 'exit');
      return { code, tookMs: performance.now() - startMs };
    }

    it('is ended after 30 s', async () => {
      const { code, tookMs } = await stopStuck();
      expect(code).to.equal(1);
      expect(tookMs * hurried).to.be.within(29_500, 200_000);
    });
  });
});
