import { setImmediate as nextIteration, setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { ScoredRows } from '../../../api/call/score-outcome.js';
import { compileKnownFields } from '../../../shared/messages/field-slots.js';
import type { OutgoingPayload } from '../../../shared/messages/score-job.js';
import { iterationsDuring } from '../../support/beats.js';
import { eventually } from '../../support/eventually.js';
import { callOf, dispatcherWith, neverEnds, scoredRow } from '../../support/scoring/answered-dispatcher.js';
import { emptyModel, keyOf, scoredPart } from '../../support/scoring/scoring-call.js';

const model = emptyModel;

describe('Dispatcher, with batches', () => {
  it('divides a lone batch among the idle processes, and sends further ones as one chunk each', async () => {
    const ends: (() => void)[] = [];
    const answer = async ({ parts }: OutgoingPayload) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return parts.map(({ rows }) => scoredPart(rows.map(() => 50)));
    };
    const { dispatcher, sent } = dispatcherWith(answer, { workers: 3 });
    const sizes = () => sent.splice(0).map(({ parts }) => parts.map(({ rows }) => rows.length));
    const calls = [1_000, 1_000, 900].map((records) => dispatcher.score(callOf(records), model, neverEnds));
    await eventually(() => expect(ends).to.have.length(5));
    expect(sizes()).to.have.deep.members([[334], [334], [332], [1_000], [900]]);
    for (const end of ends.splice(0)) end();
    expect((await Promise.all(calls)).map(({ fields }) => fields.length)).to.deep.equal([1_000, 1_000, 900]);
    calls.push(dispatcher.score(callOf(500), model, neverEnds));
    await eventually(() => expect(sizes()).to.deep.equal([[250], [250]]));
    for (const end of ends.splice(0)) end();
    await Promise.all(calls);
  });

  it('sends a part whose stored fields are too long for one chunk again, in chunks of 250, one at a time', async () => {
    let [inFlight, most] = [0, 0];
    const { dispatcher, sent } = dispatcherWith(
      async ({ parts: [part] }) => {
        if (part === undefined || part.rows.length > 250) return [{ isTooLong: true }];
        inFlight += 1;
        most = Math.max(most, inFlight);
        await pause(5);
        inFlight -= 1;
        return [scoredPart(part.crmIds.map((crmId) => Number(crmId) % 100))];
      },
      { workers: 1 },
    );
    const records = Array.from({ length: 600 }, (_, index) => ({ crmId: `${index}`, fields: {} }));
    const { parts, fields } = await dispatcher.score(callOf(0, { records }), model, neverEnds);
    const rows = ({ parts: [part] }: OutgoingPayload) => [part?.firstRow, part?.rows.length];
    expect(sent.map(rows)).to.deep.equal([
      [0, 600],
      [0, 250],
      [250, 250],
      [500, 100],
    ]);
    expect(parts.flatMap(({ scores }) => scores)).to.deep.equal(records.map((_, index) => index % 100));
    expect(fields).to.have.length(600);
    expect(most).to.equal(1);
    await dispatcher.score(callOf(600), model, neverEnds);
    expect(sent.slice(4).map(rows), 'the next call').to.deep.equal([
      [0, 200],
      [200, 200],
      [400, 200],
    ]);
  });

  it('sends one chunk at a time for an organisation whose chunks bring back megabytes of stored fields', async () => {
    const filled = [[0, 'x'.repeat(1024 * 1024)]] as const;
    const ends: (() => void)[] = [];
    const { dispatcher, sent } = dispatcherWith(
      async () => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return [scoredPart([50], { filled })];
      },
      { workers: 1 },
    );
    const score = (organisation: string) =>
      dispatcher.score(callOf(1, { apiKey: keyOf(organisation) }), model, neverEnds);
    const settled = async () => {
      for (let iteration = 0; iteration < 5; iteration += 1) await nextIteration();
    };
    const all = [score('org')];
    await settled();
    ends[0]?.();
    await settled();
    all.push(score('org'), score('org'), score('another'), score('another'));
    await settled();
    expect(sent.map((chunk) => chunk.organisation)).to.deep.equal(['org', 'org', 'another', 'another']);
    ends[1]?.();
    await settled();
    expect(sent.map((chunk) => chunk.organisation).slice(4)).to.deep.equal(['org']);
    for (const end of ends) end();
    await settled();
    // The chunks of the next batch may bring back as much for each record.
    all.push(dispatcher.score(callOf(500, { apiKey: keyOf('org') }), model, neverEnds));
    await settled();
    expect(sent.at(-1)?.parts[0]?.rows).to.have.length(250);
    ends.at(-1)?.();
    await eventually(() => expect(ends).to.have.length(7));
    for (const end of ends) end();
    await Promise.all(all);
  });

  it('cuts a batch of long records into chunks of a million characters, each in an iteration of the event loop', async () => {
    const { dispatcher, sent } = dispatcherWith(async ({ parts }) =>
      parts.map(({ rows }) => scoredPart(rows.map(() => 50))),
    );
    const list = { type: 'multi', field: 'list', label: 'List', categories: ['x'], columns: [0] } as const;
    const fields = { list: 'x'.repeat(60_000) };
    const records = Array.from({ length: 40 }, (_, index) => ({ crmId: `L-${index}`, fields }));
    const ofLists = { ...model, knownFields: compileKnownFields({ features: [list] }) };
    let rows: ScoredRows | undefined;
    const iterations = await iterationsDuring(async () => {
      rows = await dispatcher.score(callOf(0, { records }), ofLists, neverEnds);
    });
    expect(sent.map(({ parts }) => parts.map((part) => [part.firstRow, part.rows.length]))).to.deep.equal([
      [[0, 18]],
      [[18, 18]],
      [[36, 4]],
    ]);
    expect(sent.flatMap(({ parts }) => parts.flatMap(({ crmIds }) => crmIds))).to.deep.equal(
      records.map(({ crmId }) => crmId),
    );
    expect(rows?.fields).to.have.length(40);
    expect(iterations).to.be.at.least(2);
  });

  it('has all chunks of a call in flight at once', async () => {
    const ends: (() => void)[] = [];
    const { dispatcher, sent } = dispatcherWith(async () => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return [scoredRow];
    });
    const scored = dispatcher.score(callOf(1_000), model, neverEnds);
    while (sent.length < 4) await nextIteration();
    for (const end of ends) end();
    await scored;
    expect(sent).to.have.length(4);
  });

  it('puts parts of recorded rows into shared chunks, and answers in their order', async () => {
    const answer = async ({ parts }: OutgoingPayload) =>
      parts.map(({ rows }) => scoredPart(rows.map((row) => Number(row))));
    const { dispatcher, sent } = dispatcherWith(answer, { workers: 2 });
    let firstRow = 0;
    const parts = [90, 1, 100, 60, 100, 2].map((count, index) => {
      const rows = Array.from({ length: count }, (_, row) => String((firstRow + row) % 100));
      firstRow += count;
      const own = { now: index, explain: false, tolerant: true as const, firstRow: firstRow - count };
      return { ...own, crmIds: rows.map(() => null), rows };
    });
    const chunk = { target: { organisationId: 'org', model }, lane: 'bulk', timeoutMs: 5_000 } as const;
    const replies = await dispatcher.scoreParts({ parts, ...chunk });
    const wanted = parts.map(({ rows }) => rows.map(Number));
    expect(replies.map(({ scores }) => scores)).to.deep.equal(wanted);
    expect(sent.map(({ parts: own }) => own.map(({ rows }) => rows.length))).to.deep.equal([
      [90, 1],
      [100, 60],
      [100, 2],
    ]);
    expect(new Set(sent.map(({ organisation }) => organisation))).to.deep.equal(new Set(['org']));
    const long = parts.map((part) => ({ ...part, rows: part.rows.map(() => ' '.repeat(9_000).concat('7')) }));
    sent.splice(0);
    await dispatcher.scoreParts({ parts: long, ...chunk });
    expect(sent.length, 'of at most a million characters').to.equal(4);
  });
});
