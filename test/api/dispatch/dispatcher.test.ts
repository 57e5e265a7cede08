import { setImmediate as nextIteration, setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { ColdVersions } from '../../../api/dispatch/cold-versions.js';
import { NoReply } from '../../../api/dispatch/reply-stream.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { partitionsOf } from '../../../shared/messages/partitions.js';
import type { OutgoingPayload } from '../../../shared/messages/score-job.js';
import { eventually } from '../../support/eventually.js';
import { failureOf } from '../../support/failure-of.js';
import { callOf, dispatcherWith, neverEnds, scoredRow } from '../../support/scoring/answered-dispatcher.js';
import { deadlineIn, emptyModel, keyOf } from '../../support/scoring/scoring-call.js';

const model = emptyModel;

describe('Dispatcher', () => {
  const single = (timeoutMs = 5_000) => callOf(1, { lane: 'singles', deadline: deadlineIn(timeoutMs) });

  it('sends singles of one iteration in one chunk for each model', async () => {
    const { dispatcher, sent } = dispatcherWith(async ({ parts }) => parts.map(() => scoredRow));
    const models = [model, { ...model, id: 'other' }];
    await Promise.all([...models, ...models].map((each) => dispatcher.score(single(), each, neverEnds)));
    expect(sent.map(({ parts }) => parts.length)).to.deep.equal([2, 2]);
  });

  it('sends one chunk of an organisation while its version is cold, and the others after its reply', async () => {
    const ends: (() => void)[] = [];
    const answer = async ({ parts }: OutgoingPayload) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return parts.map(() => scoredRow);
    };
    const { dispatcher, sent } = dispatcherWith(answer, { coldVersions: new ColdVersions() });
    const organisations = () => sent.map(({ organisation }) => organisation).sort();
    const calls = [
      dispatcher.score(callOf(750), model, neverEnds),
      dispatcher.score(callOf(1, { apiKey: keyOf('other') }), { ...model, id: 'other' }, neverEnds),
    ];
    await eventually(() => expect(organisations()).to.deep.equal(['org', 'other']));
    for (let iteration = 0; iteration < 5; iteration += 1) await nextIteration();
    calls.push(dispatcher.score(callOf(1), { ...model, version: '2' }, neverEnds));
    for (let iteration = 0; iteration < 5; iteration += 1) await nextIteration();
    expect(organisations()).to.deep.equal(['org', 'other']);
    for (const end of ends.splice(0)) end();
    // The rest of the batch is warm, and the other version may have its first chunk.
    await eventually(() => expect(organisations()).to.deep.equal(['org', 'org', 'org', 'org', 'other']));
    for (const end of ends.splice(0)) end();
    await Promise.all(calls);
    const explained = dispatcher.score(callOf(500, { explain: true }), model, neverEnds);
    await eventually(() => expect(ends).to.have.length(1));
    for (let iteration = 0; iteration < 5; iteration += 1) await nextIteration();
    expect(ends, 'chunks that ask for drivers').to.have.length(1);
    ends[0]?.();
    await eventually(() => expect(ends).to.have.length(2));
    ends[1]?.();
    await explained;
  });

  it('tries a cold version again after a failure', async () => {
    const coldVersions = new ColdVersions();
    let answers = 0;
    const { dispatcher, sent } = dispatcherWith(
      async ({ parts }) => {
        answers += 1;
        if (answers === 1) throw new Error('the worker died');
        return parts.map(() => scoredRow);
      },
      { coldVersions },
    );
    const [first, second] = [1, 2].map(() => dispatcher.score(callOf(1), model, neverEnds));
    expect(await failureOf(first ?? neverEnds)).to.be.instanceOf(ApiError);
    await second;
    expect(sent).to.have.length(2);
  });

  it('sends the crm_ids of live keys to the workers, and none of test keys', async () => {
    const { dispatcher, sent } = dispatcherWith(async ({ parts }) => parts.map(() => scoredRow));
    const records = [{ crmId: 'L-1', fields: {} }];
    for (const bucket of ['live', 'test'] as const)
      await dispatcher.score(callOf(0, { bucket, records }), model, neverEnds);
    expect(sent.map(({ parts }) => parts.map(({ crmIds }) => crmIds))).to.deep.equal([[['L-1']], [[null]]]);
  });

  it('rejects a single that expires while its chunk waits for room in the lane, and scores the others', async () => {
    const ends: (() => void)[] = [];
    const answer = async ({ parts }: OutgoingPayload) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return parts.map(() => scoredRow);
    };
    const { dispatcher, sent } = dispatcherWith(answer, { windowSize: 1 });
    const first = dispatcher.score(single(), model, neverEnds);
    await nextIteration();
    await nextIteration();
    const late = failureOf(dispatcher.score(single(20), model, neverEnds));
    const inTime = dispatcher.score(single(), model, neverEnds);
    await new Promise((resolve) => setTimeout(resolve, 40));
    ends[0]?.();
    await first;
    while (ends.length < 2) await nextIteration();
    ends[1]?.();
    expect(await late).to.be.instanceOf(ApiError);
    await inTime;
    expect(sent.map(({ parts }) => parts.length)).to.deep.equal([1, 1]);
  });

  it('sends chunks to the first partition of their version, and to the second while the first is slow', async () => {
    const [first, second] = partitionsOf('mdl:1', 16);
    const ends: (() => void)[] = [];
    const { dispatcher, sent } = dispatcherWith(
      async () => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return [scoredRow];
      },
      { partitions: 16 },
    );
    const score = () => dispatcher.score(single(), model, neverEnds);
    const slow = score();
    await pause(1_050);
    const beside = score();
    await eventually(() => expect(sent).to.have.length(2));
    for (const end of ends) end();
    await Promise.all([slow, beside]);
    const afterwards = score();
    await eventually(() => expect(sent).to.have.length(3));
    ends[2]?.();
    await afterwards;
    expect(sent.map(({ partition }) => partition)).to.deep.equal([first, second, first]);
  });

  it('fails a call with the error of one chunk, also while other chunks are packed', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      const { dispatcher, sent } = dispatcherWith(() => Promise.reject(new NoReply('at once')));
      const error = await failureOf(dispatcher.score(callOf(1_000), model, neverEnds));
      expect((error as ApiError).message).to.equal('The records could not be scored in time.');
      expect(sent).to.have.length(4);
    } finally {
      process.off('unhandledRejection', note);
    }
    expect(unhandled).to.deep.equal([]);
  });

  it('names a failed chunk otherwise than a timeout, with Retry-After', async () => {
    const failure = { code: 'scoring_failed', message: 'the model does not run' } as const;
    const { dispatcher } = dispatcherWith(async () => [], { failure });
    const error = await failureOf(dispatcher.score(callOf(1), model, neverEnds));
    expect(error).to.be.instanceOf(ApiError).and.to.have.property('message', 'The records could not be scored.');
    expect((error as ApiError).options).to.deep.equal({ cause: failure, retryAfterSeconds: 1 });
  });

  it('cancels a chunk without a reply, so that no worker starts it', async () => {
    const { dispatcher, sent, dropped } = dispatcherWith(() => Promise.reject(new NoReply('in time')));
    const error = await failureOf(dispatcher.score(callOf(1), model, neverEnds));
    expect(error).to.be.instanceOf(ApiError);
    expect((error as ApiError).entry.code).to.equal('internal_error');
    expect((error as ApiError).options.retryAfterSeconds).to.equal(1);
    const chunk = sent[0]?.chunk;
    expect(dropped).to.have.members([`reply ${chunk}`, `batches ${chunk}`]);
  });
});
