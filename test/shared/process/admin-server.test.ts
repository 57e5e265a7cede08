import { createServer } from 'node:http';
import { expect } from 'chai';
import { Gauge, Registry } from 'prom-client';
import { listen, startAdminServer } from '../../../shared/process/admin-server.js';
import { failureOf } from '../../support/failure-of.js';

describe('admin server', () => {
  const started = (registry: Registry, readiness: () => Promise<string | undefined>) =>
    startAdminServer({ host: '127.0.0.1', port: 0, registry, readiness });

  it('answers 500 when a collector or the readiness check throws, and keeps serving', async () => {
    const registry = new Registry();
    let isBroken = true;
    const breakWhen = () => {
      if (isBroken) throw new Error('nothing to collect');
    };
    new Gauge({ name: 'leadscore_test', help: 'A test.', registers: [registry], collect: breakWhen });
    const server = await started(registry, async () => {
      breakWhen();
      return undefined;
    });
    const get = async (path: string) => {
      const reply = await fetch(`http://127.0.0.1:${server.port}${path}`, {
        signal: AbortSignal.timeout(1_000),
      });
      return `${reply.status} ${(await reply.text()).trim()}`;
    };
    try {
      expect(await get('/metrics')).to.equal('500 nothing to collect');
      expect(await get('/readyz')).to.equal('500 nothing to collect');
      expect(await get('/healthz')).to.equal('200 ok');
      isBroken = false;
      expect(await get('/metrics'))
        .to.include('200 ')
        .and.include('leadscore_test');
      expect(await get('/readyz')).to.equal('200 ready');
    } finally {
      await server.stop();
    }
  });

  it('names the likely cause when it cannot listen: another process, or a wrong HOST', async () => {
    const server = await started(new Registry(), async () => undefined);
    try {
      const taken = await failureOf(listen(createServer(), '127.0.0.1', server.port));
      expect(taken.message).to.match(/: is something else running there\?$/);
      const elsewhere = await failureOf(listen(createServer(), 'no-such-host.invalid', 0));
      expect(elsewhere.message).to.match(/: check HOST and the port$/);
    } finally {
      await server.stop();
    }
  });
});
