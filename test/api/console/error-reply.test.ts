import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import Koa from 'koa';
import { MongoNetworkError } from 'mongodb';
import { errorReply } from '../../../api/console/http/error-reply.js';
import { createLogger } from '../../../shared/process/logger.js';
import { MongoTimeout } from '../../../shared/store/connection/connect.js';
import { CommitUnknown } from '../../../shared/store/connection/transaction.js';

/** The reply of the console to a request that ends with an error, by default one that reads. */
async function replyTo(thrown: unknown, { method = 'GET', effect }: { method?: string; effect?: string } = {}) {
  const app = new Koa();
  app.use(errorReply(createLogger('silent', 'console')));
  app.use((context) => {
    context.state.effect = effect;
    throw thrown;
  });
  const server = createServer(app.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const reply = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { method });
    const { error } = (await reply.json()) as { error: { code: string; message: string } };
    return { status: reply.status, code: error.code, message: error.message, retry: reply.headers.get('retry-after') };
  } finally {
    server.close();
  }
}

describe('a failure in the console', () => {
  const outage = { status: 503, code: 'unavailable', retry: '5' };

  it('is `unavailable` when MongoDB or Redis does not answer, and says that nothing was changed', async () => {
    const failures = [
      ...[new MongoTimeout(), new MongoNetworkError('socket closed'), new Error('Command timed out')],
      // A connection that breaks while a command waits.
      new Error('Reached the max retries per request limit (which is 1).'),
    ];
    for (const each of failures) {
      const reply = await replyTo(each);
      expect(reply, each.message).to.include(outage);
      expect(reply.message).to.include('nothing was changed');
      const change = await replyTo(each, { method: 'DELETE', effect: 'change' });
      expect(change.message, 'in a transaction').to.equal(reply.message);
    }
  });

  it('asks to check when a change of several steps was interrupted', async () => {
    for (const effect of ['steps', undefined]) {
      const reply = await replyTo(new MongoTimeout(), { method: 'DELETE', ...(effect && { effect }) });
      expect(reply).to.include(outage);
      expect(reply.message, effect).to.include('Check whether it was made').and.not.include('nothing was changed');
    }
  });

  it('asks to check when a change was not confirmed', async () => {
    const reply = await replyTo(new CommitUnknown('the commit was not confirmed in time'));
    expect(reply).to.include(outage);
    expect(reply.message).to.include('Check whether it was made');
  });

  it('is `internal_error` otherwise, and says nothing about its cause', async () => {
    const reply = await replyTo(new TypeError('x is not a function'));
    expect(reply).to.include({ status: 500, code: 'internal_error' });
    expect(reply.message).to.not.include('x is not');
  });
});
