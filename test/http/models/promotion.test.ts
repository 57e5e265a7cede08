import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { storeVersion } from '../../../shared/store/models/store-version.js';
import { cliDocument, settingsOf } from '../../scripts/cli/cli-call.js';
import { eventually } from '../../support/eventually.js';
import { type ScoreAnswer, scored } from '../../support/http/score-reply.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { storeComparedRun } from '../../support/models/sample-comparison.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';

const callers = 20;
/** Twenty callers with a call each fifth of a second make a hundred calls a second, on a machine that can. */
const everyMs = 200;
const testTimeoutMs = 120_000;
/** Calls that each version answers before the next change. */
const enough = 100;
/** The score of the record below by each version. */
const scores: Readonly<Record<string, number>> = { '1.0.0': 38, '2.0.0': 95 };
const record = { company_size: 50 };

/** A call that was answered, in the order of the answers. */
interface Answered {
  readonly version: string;
  /** The number of answers before it was sent. */
  readonly sentAfter: number;
}

describe('a model whose candidate is promoted under calls', function () {
  this.timeout(testTimeoutMs);
  let own: TestWorkspace;
  let service: RunningService;
  let settings: Readonly<Record<string, string>>;

  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    const { database } = service.stores;
    settings = await settingsOf(service);
    const bundle = checkBundle(sampleBundle({ version: '2.0.0', intercept: 3 }));
    const now = new Date(service.clock.now());
    await storeVersion({ database, organisationId: own.id, modelId: own.model._id, bundle, now });
    await cliDocument(['model', 'candidate', own.model._id, '2.0.0'], settings);
    await storeComparedRun(database, own.model._id);
  });

  it('answers each call by one of the two versions, and after each change by the other one alone', async () => {
    const answers: Answered[] = [];
    let isOver = false;
    const call = async () => {
      const sentAfter = answers.length;
      const reply: ScoreAnswer = scored(await own.score([record]));
      const [row] = reply.scores;
      expect(row?.score, reply.model_version).to.equal(scores[reply.model_version]);
      answers.push({ version: reply.model_version, sentAfter });
    };
    const calling = Array.from({ length: callers }, async (_, caller) => {
      await pause((caller * everyMs) / callers);
      while (!isOver) await Promise.all([call(), pause(everyMs)]);
    });
    const ended = Promise.all(calling);
    /** Waits until a version has answered enough calls since a number of answers. */
    const answeredBy = (version: string, since: number) =>
      Promise.race([
        eventually(() => {
          const found = answers.slice(since).filter((each) => each.version === version);
          expect(found.length, version).to.be.above(enough);
        }, 30_000),
        ended,
      ]);
    try {
      await answeredBy('1.0.0', 0);
      const promotedAfter = answers.length;
      expect(await cliDocument(['model', 'promote', own.model._id], settings)).to.include({ version: '2.0.0' });
      await answeredBy('2.0.0', promotedAfter);
      const rolledBackAfter = answers.length;
      expect(await cliDocument(['model', 'rollback', own.model._id], settings)).to.include({ version: '1.0.0' });
      await answeredBy('1.0.0', rolledBackAfter);
      isOver = true;
      await ended;
      expectOneChange(answers, { version: '2.0.0', from: promotedAfter, to: rolledBackAfter });
      expectOneChange(answers, { version: '1.0.0', from: rolledBackAfter, to: answers.length });
      expect(await own.ledgerSum()).to.equal(answers.length);
    } finally {
      isOver = true;
      await ended.catch(() => undefined);
    }
  });

  /** Asserts that the calls which were sent after the first answer by a version are answered by it. */
  function expectOneChange(
    answers: readonly Answered[],
    { version, from, to }: { readonly version: string; readonly from: number; readonly to: number },
  ): void {
    const first = answers.findIndex((each) => each.sentAfter >= from && each.version === version);
    expect(first).to.be.at.least(from);
    const later = answers.slice(first, to).filter(({ sentAfter }) => sentAfter > first);
    expect(later).to.not.have.length(0);
    expect(later.filter((each) => each.version !== version)).to.deep.equal([]);
  }
});
