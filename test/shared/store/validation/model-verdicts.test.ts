import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { unresolved } from '../../../../shared/contract/verdict.js';
import { createLogger } from '../../../../shared/process/logger.js';
import type { StoredVerdict } from '../../../../shared/store/validation/model-validation.js';
import { ModelVerdicts } from '../../../../shared/store/validation/model-verdicts.js';
import { modelOf } from '../../../support/scoring/stored-documents.js';

const nowMs = Date.UTC(2026, 1, 10, 12);
const hourMs = 60 * 60 * 1_000;

type Stored = StoredVerdict | Error | undefined;

const storedOf = ({ gradedMs = nowMs, asOfMs }: { gradedMs?: number; asOfMs?: number } = {}): StoredVerdict => ({
  ...{ _id: 'mdl:1', organisation_id: 'org', state: 'passed', failing_gate: null, summary: 'Passed: all is well.' },
  graded_at: new Date(gradedMs),
  grade: {
    ...{ as_of: new Date(asOfMs ?? gradedMs), state: 'passed', gates: [], bands: [] },
    ...{ horizon_days: 90, data_read_at: new Date(gradedMs), rebuilt_at: new Date(gradedMs) },
  },
});

/** Verdicts from a store that returns or throws `state.stored`. Collects the ids of each read, joined by commas. */
function verdictsOf(stored: Stored) {
  const asked: string[] = [];
  const state = { stored };
  const validation = {
    findAll: async (ids: readonly string[]) => {
      asked.push(ids.join());
      const { stored: found } = state;
      if (found instanceof Error) throw found;
      return ids.flatMap((_id) => (found === undefined ? [] : [{ ...found, _id }]));
    },
  };
  const clock = { now: () => nowMs };
  return {
    asked,
    state,
    verdicts: new ModelVerdicts({ validation, clock, logger: createLogger('silent', 'test') }),
  };
}

describe('the verdict on a model', () => {
  it('is the stored verdict of its version, and is read once', async () => {
    const { asked, verdicts } = verdictsOf(storedOf());
    expect(await verdicts.of(modelOf())).to.include({ state: 'passed', summary: 'Passed: all is well.' });
    expect(await verdicts.detailOf(modelOf())).to.include({ as_of: '2026-02-10T12:00:00.000Z' });
    expect(asked).to.deep.equal(['mdl:1']);
  });

  it('is unresolved when it is dated in the future', async () => {
    for (const [stored, state] of [
      [{ gradedMs: nowMs - 72 * hourMs }, 'passed'],
      [{ gradedMs: nowMs - 1_000 * hourMs }, 'passed'],
      [{ asOfMs: nowMs - 1_000 * hourMs }, 'passed'],
      [{ gradedMs: nowMs + hourMs }, 'passed'], // clocks may differ by an hour
      [{ gradedMs: nowMs + hourMs + 1, asOfMs: nowMs }, 'unresolved'],
      [{ asOfMs: nowMs + hourMs + 1 }, 'unresolved'],
    ] as const) {
      const detail = await verdictsOf(storedOf(stored)).verdicts.detailOf(modelOf());
      expect(detail, JSON.stringify(stored)).to.include({ state });
      expect('gates' in detail).to.equal(state === 'passed');
    }
  });

  it('says its date when the grader has not checked it for 72 hours', async () => {
    const late = '; this verdict is of 2026-02-07, and no grade has followed.';
    const gradedMs = nowMs - 72 * hourMs;
    const checked = (hasNews: boolean) => ({ at: new Date(nowMs - hourMs), hasNews });
    for (const [stored, ending] of [
      [storedOf({ gradedMs }), '.'],
      [storedOf({ gradedMs: gradedMs - 1 }), late],
      [{ ...storedOf({ gradedMs: gradedMs - 1 }), checked: checked(false) }, '.'],
      [{ ...storedOf({ gradedMs: gradedMs - 1 }), checked: checked(true) }, late],
    ] as const) {
      const { summary } = await verdictsOf(stored).verdicts.of(modelOf());
      expect(summary).to.equal(`Passed: all is well${ending}`);
    }
  });

  it('is read with those of all other models in one query', async () => {
    const { asked, verdicts } = verdictsOf(storedOf());
    const models = Array.from({ length: 300 }, (_, index) => modelOf({ _id: `mdl_${index}` }));
    for (const verdict of await Promise.all(models.map((model) => verdicts.of(model))))
      expect(verdict).to.include({ state: 'passed' });
    expect(asked).to.deep.equal([models.map(({ _id }) => `${_id}:1`).join()]);
  });

  it('is read again after a grade of its version, and no other verdict is', async () => {
    const { asked, verdicts } = verdictsOf(storedOf());
    const [one, other] = [modelOf(), modelOf({ _id: 'other' })];
    for (const model of [one, other]) await verdicts.of(model);
    verdicts.forget('mdl:1');
    for (const model of [one, other]) await verdicts.of(model);
    expect(asked).to.deep.equal(['mdl:1', 'other:1', 'mdl:1']);
  });

  it('stays the last known one when a later read fails', async () => {
    const { asked, state, verdicts } = verdictsOf(storedOf());
    const now = performance.now.bind(performance);
    await verdicts.of(modelOf());
    await pause(5); // the cache reads the time at most once a millisecond
    try {
      performance.now = () => now() + 61_000;
      state.stored = new Error('no primary');
      expect(await verdicts.of(modelOf())).to.include({ state: 'passed' });
      expect(asked).to.have.length(2);
    } finally {
      performance.now = now;
    }
  });

  it('is unresolved when the read fails, and the next call reads again', async () => {
    const { asked, verdicts } = verdictsOf(new Error('no primary'));
    expect(await verdicts.of(modelOf())).to.include({ state: 'unresolved' });
    expect(await verdicts.read(modelOf())).to.deep.equal({ verdict: unresolved, isUnread: true });
    expect(asked).to.have.length(2);
  });

  it('says until when data counts and which grade counts newer data, if it is too early to grade', async () => {
    const early = storedOf({ gradedMs: nowMs - hourMs });
    const summaryOf = async (more: Partial<StoredVerdict>) =>
      (
        await verdictsOf({
          ...early,
          ...more,
          state: 'too_early_to_grade',
          summary: 'Too early to grade at a gate: 3 of 200.',
        }).verdicts.of(modelOf())
      ).summary;
    const start = 'Too early to grade at a gate: 3 of 200';
    const tonight = 'newer data from the grade after 2026-02-11 02:00 UTC, or half an hour after new outcomes.';
    const due = 'newer data from the grade that is due now.';
    expect(await summaryOf({})).to.equal(`${start}; data until 2026-02-10 11:00 UTC counts, ${tonight}`);
    const yesterday = storedOf({ gradedMs: nowMs - 11 * hourMs });
    expect(await summaryOf(yesterday)).to.equal(`${start}; data until 2026-02-10 01:00 UTC counts, ${due}`);
    const checked = { ...yesterday, checked: { at: new Date(nowMs - 9 * hourMs), hasNews: false } };
    expect(await summaryOf(checked)).to.equal(`${start}; data until 2026-02-10 01:00 UTC counts, ${tonight}`);
    const hasNews = { checked: { at: new Date(nowMs), hasNews: true } };
    expect(await summaryOf(hasNews)).to.equal(`${start}; data until 2026-02-10 11:00 UTC counts, ${due}`);
  });

  it('claims no number of predictions before the first grade, and gives each gate its reason', async () => {
    const { verdicts } = verdictsOf(undefined);
    const { summary, gates, ...rest } = await verdicts.detailOf(modelOf());
    expect(summary).to.include('no grade has counted').and.include('within 15 minutes').and.not.match(/200/);
    expect((await verdicts.of(modelOf())).summary).to.equal(summary);
    expect(gates).to.deep.equal([
      {
        gate: 'predictions_recorded',
        state: 'not_reached',
        figures: {},
        needs: 'no grade has counted the predictions yet',
      },
      ...['cohort_reconciles', 'matured_cohort', 'outcomes_observed', 'rate_rises_with_band', 'top_band_lift'].map(
        (gate) => ({ gate, state: 'not_reached', figures: {}, needs: 'predictions_recorded must clear first' }),
      ),
    ]);
    expect(rest).to.have.all.keys('state', 'failing_gate');
    expect(await verdictsOf(new Error('no primary')).verdicts.detailOf(modelOf())).to.not.have.property('gates');
    expect(await verdicts.detailOf(modelOf({ family: 'timing' }))).to.not.have.property('gates');
  });

  it('is too_early_to_grade without a grade, and not_applicable for a timing model', async () => {
    const early = { state: 'too_early_to_grade', failing_gate: 'predictions_recorded' };
    expect(await verdictsOf(undefined).verdicts.of(modelOf())).to.include(early);
    const { asked, verdicts } = verdictsOf(undefined);
    expect(await verdicts.of(modelOf({ family: 'timing' }))).to.include({ state: 'not_applicable' });
    expect(asked).to.deep.equal([]);
  });

  it('names in its one sentence who overrode the policy, when and why', async () => {
    const override = { version: '1', by: 'an\nadmin', at: new Date(nowMs), reason: ' for a pilot. ' };
    const { summary } = await verdictsOf(storedOf()).verdicts.of(modelOf({ override }));
    expect(summary).to.equal(
      'Passed: all is well; the deploy policy is overridden by an admin since 2026-02-10: "for a pilot".',
    );
    const another = modelOf({ override: { ...override, version: '0' } });
    expect((await verdictsOf(storedOf()).verdicts.of(another)).summary).to.equal('Passed: all is well.');
  });
});
