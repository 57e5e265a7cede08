import { expect } from 'chai';
import type { Verdict } from '../../shared/contract/verdict.js';
import { eventually } from '../support/eventually.js';
import { refused, scored } from '../support/http/score-reply.js';
import { sampleBundle } from '../support/models/sample-bundle.js';
import { type RunningService, runningService, startTimeoutMs } from '../support/service/service.js';
import { type WorkspaceOptions, workspace } from '../support/service/workspace.js';

const lead = { company_size: 120 };
const hourMs = 60 * 60 * 1000;
const passed: Verdict = {
  state: 'passed',
  failing_gate: null,
  summary: 'Passed: all six validation gates cleared on 1,240 matured predictions, with top-band lift 2.1x.',
};
const failed: Verdict = {
  state: 'failed',
  failing_gate: 'rate_rises_with_band',
  summary:
    'Failed at rate_rises_with_band: conversion does not rise with score band across 1,240 matured predictions.',
};
const tooEarly: Verdict = {
  state: 'too_early_to_grade',
  failing_gate: 'matured_cohort',
  summary:
    'Too early to grade at matured_cohort: 140 of 200 required predictions have completed the 90-day window.',
};
const unresolved: Verdict = {
  state: 'unresolved',
  failing_gate: null,
  summary: 'Unresolved: the validation state could not be read, so no gate is claimed.',
};
const notApplicable: Verdict = {
  state: 'not_applicable',
  failing_gate: null,
  summary: 'Not applicable: timing models are not graded by the forward-cohort gates.',
};

describe('POST /v1/score: the validation verdict', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await runningService();
  });

  const answerOf = async (options: WorkspaceOptions) =>
    scored(await (await workspace(service, options)).score([lead]));

  describe('under policy warn', () => {
    for (const verdict of [passed, failed, tooEarly, unresolved]) {
      it(`is attached as stored: ${verdict.state}`, async () => {
        expect((await answerOf({ verdict })).validation).to.deep.equal(verdict);
      });
    }

    it('of a model that was never graded is too_early_to_grade at predictions_recorded', async () => {
      const { validation } = await answerOf({});
      expect(validation).to.include({ state: 'too_early_to_grade', failing_gate: 'predictions_recorded' });
      expect(validation.summary).to.match(/^Too early to grade at predictions_recorded: .+\.$/);
    });

    it('of a timing model is not_applicable, even where another is stored', async () => {
      const bundle = sampleBundle({ family: 'timing' });
      expect((await answerOf({ bundle })).validation).to.deep.equal(notApplicable);
      expect((await answerOf({ bundle, verdict: failed })).validation).to.deep.equal(notApplicable);
    });

    it('holds for 72 hours, and is unresolved after that', async () => {
      const gradedAgo = (hours: number) => new Date(service.clock.now() - hours * hourMs);
      const fresh = { ...passed, graded_at: gradedAgo(71.9) };
      expect((await answerOf({ verdict: fresh })).validation).to.deep.equal(passed);
      const stale = { ...passed, graded_at: gradedAgo(72.1) };
      expect((await answerOf({ verdict: stale })).validation).to.deep.equal(unresolved);
    });

    it('of one version is not that of the next', async () => {
      const own = await workspace(service, { verdict: passed });
      expect(scored(await own.score([lead], { gateway: 0 })).validation.state).to.equal('passed');
      await own.addVersion(sampleBundle({ version: '2.0.0' }));
      await eventually(async () => {
        const { validation } = scored(await own.score([lead], { gateway: 0 }));
        expect(validation.state).to.equal('too_early_to_grade');
      });
    });

    it('is seen at once when it changes', async () => {
      const own = await workspace(service, { verdict: passed });
      for (const gateway of [0, 1])
        expect(scored(await own.score([lead], { gateway })).validation).to.deep.equal(passed);
      await own.grade(own.model, failed);
      for (const gateway of [0, 1]) {
        await eventually(async () => {
          expect(scored(await own.score([lead], { gateway })).validation).to.deep.equal(failed);
        });
      }
    });

    it('is on the answers to test keys too', async () => {
      const own = await workspace(service, { verdict: failed });
      expect(scored(await own.score([lead], { key: own.test })).validation).to.deep.equal(failed);
    });
  });

  describe('under policy block', () => {
    for (const verdict of [failed, tooEarly, unresolved]) {
      it(`refuses ${verdict.state} with 409 for both keys, with the verdict beside the error`, async () => {
        const own = await workspace(service, { policy: 'block', verdict });
        for (const key of [own.live, own.test]) {
          const reply = await own.score([lead], { key });
          const { error, validation, ...rest } = refused(reply, '409 deploy_blocked');
          expect(validation).to.deep.equal(verdict);
          expect(rest).to.deep.equal({});
          expect(error.message).to.include(verdict.failing_gate ?? verdict.state);
          expect(error.message).to.include(`leadscore model set ${own.model._id} --override on --reason`);
          expect(reply.headers.get('retry-after')).to.equal(null);
        }
      });
    }

    it('refuses a model that was never graded, and one whose verdict is stale', async () => {
      const ungraded = await workspace(service, { policy: 'block' });
      const { validation, error } = refused(await ungraded.score([lead]), '409 deploy_blocked');
      expect(validation).to.include({ state: 'too_early_to_grade', failing_gate: 'predictions_recorded' });
      expect(error.message).to.match(
        /predictions_recorded\. It clears .*refused calls record none.* must lift the refusal with "leadscore /,
      );
      const graded_at = new Date(service.clock.now() - 100 * hourMs);
      const stale = await workspace(service, { policy: 'block', verdict: { ...passed, graded_at } });
      expect(refused(await stale.score([lead]), '409 deploy_blocked').validation).to.deep.equal(unresolved);
    });

    it('lets a model score that has passed', async () => {
      expect((await answerOf({ policy: 'block', verdict: passed })).validation).to.deep.equal(passed);
    });

    it('lets a timing model score, graded or not', async () => {
      const bundle = sampleBundle({ family: 'timing' });
      expect((await answerOf({ policy: 'block', bundle })).validation).to.deep.equal(notApplicable);
    });

    it('lets a model score under an override, which the summary tells in one sentence', async () => {
      const own = await workspace(service, { policy: 'block', verdict: failed });
      const at = new Date('2026-11-22T12:00:00Z');
      const override = { by: 'ada', at, reason: ' A pilot.\r\n\tSee ticket 7. ' };
      await service.stores.models.update(own.model._id, { override });
      const { validation } = scored(await own.score([lead]));
      expect(validation).to.include({ state: 'failed', failing_gate: 'rate_rises_with_band' });
      expect(validation.summary).to.equal(
        `${failed.summary.slice(0, -1)}; the deploy policy is overridden by ada since 2026-11-22: "A pilot. See ticket 7".`,
      );
    });

    it('refuses again once the override is taken back', async () => {
      const own = await workspace(service, { policy: 'block', verdict: failed });
      const override = { by: 'ada', at: new Date(service.clock.now()), reason: 'a pilot' };
      await service.stores.models.update(own.model._id, { override });
      scored(await own.score([lead], { gateway: 0 }));
      await service.stores.models.removeOverride(own.model._id);
      await own.changeModel(own.model._id, {});
      await eventually(async () => {
        refused(await own.score([lead], { gateway: 0 }), '409 deploy_blocked');
      });
    });
  });
});
