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

describe('a process that receives SIGTERM', () => {
  describe('with work in flight', () => {
    let service: RunningService;

    before(async function () {
      this.timeout(startTimeoutMs);
      service = await runningService({ environment: { LOG_LEVEL: 'info', WORKERS: '2' } });
    });
    after(async function () {
      this.timeout(startTimeoutMs);
      await service?.stop();
    });

    const isStopping = (process: string) =>
      eventually(async () =>
        expect(await service.log()).to.match(new RegExp(`"process":"${process}".*"msg":"stopping"`)),
      );

    it('answers a call that is still arriving, if a gateway, and exits with 1 at a second SIGTERM', async function () {
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
      await isStopping('gateway');
      first?.send(body.slice(10));
      const reply = await first?.reply();
      expect(reply?.status).to.equal(200);
      expect(reply?.headers.get('connection')).to.equal('close');
      expect(gateway.process.exitCode, 'exit code while the second call is arriving').to.equal(null);
      const secondMs = performance.now();
      gateway.process.kill('SIGTERM');
      expect(await gateway.ended).to.equal('exit code 1');
      expect(performance.now() - secondMs).to.be.below(5_000);
      for (const caller of callers) caller.destroy();
      expect(second?.unread()).to.equal('');
      expect(await own.ledgerSum()).to.equal(1);
    });

    it('waits for its stopped workers, if a pool, and exits with 1, as they do, at a second SIGTERM', async function () {
      this.timeout(startTimeoutMs);
      const { pool } = service.stack;
      const workers = childProcessIds(pool.pid);
      expect(workers).to.have.length(4);
      try {
        await Promise.all(workers.map(freeze));
        pool.process.kill('SIGTERM');
        await isStopping('pool');
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

  describe('without ever finishing', () => {
    /** Runs a process with a part that never stops. Returns its exit code, and how long it took after SIGTERM. */
    async function stopStuck(hardLimitMs: number): Promise<{ code: unknown; tookMs: number }> {
      const module = (path: string) => JSON.stringify(pathToFileURL(projectFile(`dist/shared/process/${path}`)).href);
      const program = `
        import { Lifecycle } from ${module('lifecycle.js')};
        import { createLogger } from ${module('logger.js')};
        const lifecycle = new Lifecycle(createLogger('silent', 'test'), ${hardLimitMs});
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

    it('exits with 1 at the hard limit', async () => {
      const { code, tookMs } = await stopStuck(300);
      expect(code).to.equal(1);
      expect(tookMs).to.be.within(295, 10_000);
    });
  });
});
