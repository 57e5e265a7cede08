import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import type { ArrivedCall } from '../../../api/large-calls/arrived-call.js';
import { LargeCalls } from '../../../api/large-calls/large-calls.js';
import { CallerGone } from '../../../api/request/read-body.js';
import { failureOf } from '../../support/failure-of.js';
import { deadlineIn, keyOf } from '../../support/scoring/scoring-call.js';

/** A thread that runs `onMessage` for each message, with `send` to answer. */
const threadOf = (onMessage: string, begin = `send({ kind: 'ready' })`): Worker =>
  new Worker(
    `const { parentPort } = require('node:worker_threads');
     const send = (message) => parentPort.postMessage(message);
     const wholeMs = () => Number(process.hrtime.bigint()) / 1e6;
     parentPort.on('message', (message) => { ${onMessage} });
     ${begin};`,
    { eval: true },
  );

/** Answers a call with what it received of it, and figures by the ids of callers who hung up. */
const echo = `
  globalThis.gone ??= [];
  if (message.kind === 'stop') process.exit(0);
  if (message.kind === 'hungUp') { gone.push(message.id); send({ kind: 'answer', id: message.id, answer }); }
  if (message.kind === 'call') {
    const { received, ...call } = message.call;
    const text = JSON.stringify({ ...call, route: message.route, text: Buffer.from(received.body).toString() });
    globalThis.answer = {
      reply: { body: Buffer.from(text), isReplay: true },
      scored: { modelId: 'mdl', records: Math.round(received.deadline.monotonicMs - wholeMs()) },
    };
    if (call.requestId !== 'waits') send({ kind: 'answer', id: message.id, answer });
  }`;

const callOf = (
  body: Buffer,
  { requestId = 'r-1', leftMs = 60_000, hangUp = (_: () => void): void => undefined } = {},
): ArrivedCall => ({
  received: {
    ...{ callId: 'call', body, atMs: 1, apiKey: keyOf('org'), idempotency: undefined, notices: [] },
    ...{ deadline: deadlineIn(leftMs), hasHungUp: () => false },
    onHangUp: (listener) => {
      hangUp(listener);
      return () => undefined;
    },
  },
  ...{ requestId, querystring: 'a=b', form: { isForm: false, encoding: 'utf-8' } },
});

describe('LargeCalls', () => {
  let ends: string[];
  let calls: LargeCalls;

  const start = async (thread: Worker): Promise<void> => {
    ends = [];
    calls = await LargeCalls.start(({ message }) => ends.push(message), thread);
  };

  it('hands a call over with its body, and its deadline on a clock of both threads', async () => {
    await start(threadOf(echo));
    const whole = Buffer.from(new Uint8Array(70_000).fill(0x61).buffer);
    const part = Buffer.from('xxébxx').subarray(2, 5);
    for (const [body, text] of [[whole, 'a'.repeat(70_000)] as const, [part, 'éb'] as const]) {
      const { reply, scored } = await calls.answer('/score', callOf(body));
      const expected = { requestId: 'r-1', querystring: 'a=b', form: { isForm: false, encoding: 'utf-8' } };
      expect(JSON.parse(String(reply.body))).to.deep.equal({ ...expected, route: '/score', text });
      expect(reply.isReplay).to.equal(true);
      expect(scored.records, 'ms until the deadline').to.be.within(1, 60_000);
    }
    await calls.stop();
    expect(ends).to.deep.equal([]);
  });

  it('tells the thread that a caller has hung up', async () => {
    await start(threadOf(echo));
    const { reply } = await calls.answer(
      '/v1/score',
      callOf(Buffer.from('{}'), { requestId: 'waits', hangUp: (listener) => setTimeout(listener, 20) }),
    );
    expect(String(reply.body)).to.include('waits');
    await calls.stop();
  });

  it('hands over no call whose caller has hung up before', async () => {
    await start(threadOf(echo));
    const { received, ...call } = callOf(Buffer.from('{}'));
    const gone = calls.answer('/score', { ...call, received: { ...received, hasHungUp: () => true } });
    expect(await failureOf(gone)).to.be.an.instanceOf(CallerGone);
    await calls.stop();
  });

  it('throws the error of a thread that cannot start', async () => {
    const failing = threadOf('', `throw new Error('no database')`);
    expect((await failureOf(LargeCalls.start(() => undefined, failing))).message).to.equal('no database');
  });

  it('fails the calls in flight and reports it when the thread ends by itself', async () => {
    await start(threadOf(`throw new Error('out of memory')`));
    const failed = await failureOf(calls.answer('/v1/score', callOf(Buffer.from('{}'))));
    expect(failed.message).to.equal('out of memory');
    expect(ends).to.deep.equal(['out of memory']);
  });
});
