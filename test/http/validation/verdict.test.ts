import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { scored } from '../../support/http/score-reply.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import { type RunningService, sharedService, startTimeoutMs } from '../../support/service/service.js';
import { type WorkspaceOptions, workspace } from '../../support/service/workspace.js';
import { failed, notApplicable, passed, tooEarly, unresolved } from './verdicts.js';

const lead = { company_size: 120 };
const hourMs = 60 * 60 * 1000;
describe('validation verdict of POST /v1/score', () => {
  let service: RunningService;

  before(async function () {
    this.timeout(startTimeoutMs);
    service = await sharedService('twoGateways');
  });

  const answerOf = async (options: WorkspaceOptions) => scored(await (await workspace(service, options)).score([lead]));

  describe('under policy warn', () => {
    for (const verdict of [passed, failed, tooEarly, unresolved]) {
      it(`returns the stored verdict: ${verdict.state}`, async () => {
        expect((await answerOf({ verdict })).validation).to.deep.equal(verdict);
      });
    }

    it('returns too_early_to_grade at predictions_recorded for an ungraded model', async () => {
      const { validation } = await answerOf({});
      expect(validation).to.include({ state: 'too_early_to_grade', failing_gate: 'predictions_recorded' });
      expect(validation.summary).to.match(/^Too early to grade at predictions_recorded: .+\.$/);
    });

    it('returns not_applicable for a timing model, even with a stored verdict', async () => {
      const bundle = sampleBundle({ family: 'timing' });
      expect((await answerOf({ bundle })).validation).to.deep.equal(notApplicable);
      expect((await answerOf({ bundle, verdict: failed })).validation).to.deep.equal(notApplicable);
    });

    it('returns a verdict older than 72 hours with its date in the summary', async () => {
      const gradedAgo = (hours: number) => new Date(service.clock.now() - hours * hourMs);
      const fresh = { ...passed, graded_at: gradedAgo(71.9) };
      expect((await answerOf({ verdict: fresh })).validation).to.deep.equal(passed);
      const stale = { ...passed, graded_at: gradedAgo(72.1) };
      const { state, summary } = (await answerOf({ verdict: stale })).validation;
      expect(state).to.equal('passed');
      expect(summary).to.include(
        `; this verdict is of ${stale.graded_at.toISOString().slice(0, 10)}, and no grade has`,
      );
    });

    it('returns no verdict of the previous version', async () => {
      const own = await workspace(service, { verdict: passed });
      expect(scored(await own.score([lead], { gateway: 0 })).validation.state).to.equal('passed');
      await own.addVersion(sampleBundle({ version: '2.0.0' }));
      await eventually(async () => {
        const { validation } = scored(await own.score([lead], { gateway: 0 }));
        expect(validation.state).to.equal('too_early_to_grade');
      });
    });

    it('returns a changed verdict from both gateways within 2 s', async () => {
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

    it('returns the verdict to a test key', async () => {
      const own = await workspace(service, { verdict: failed });
      expect(scored(await own.score([lead], { key: own.test })).validation).to.deep.equal(failed);
    });
  });

  describe('under policy block', () => {
    it('returns 200 for a passed model under policy block', async () => {
      expect((await answerOf({ policy: 'block', verdict: passed })).validation).to.deep.equal(passed);
    });

    it('returns 200 for a timing model under policy block', async () => {
      const bundle = sampleBundle({ family: 'timing' });
      expect((await answerOf({ policy: 'block', bundle })).validation).to.deep.equal(notApplicable);
    });

    it('returns 200 under an override, and adds it to the summary in one sentence', async () => {
      const own = await workspace(service, { policy: 'block', verdict: failed });
      const at = new Date('2026-11-22T12:00:00Z');
      const override = { version: own.model.version, by: 'ada', at, reason: ' A pilot.\r\n\tSee ticket 7. ' };
      await service.stores.models.update(own.model._id, { override });
      const { validation } = scored(await own.score([lead]));
      expect(validation).to.include({ state: 'failed', failing_gate: 'rate_rises_with_band' });
      expect(validation.summary).to.equal(
        `${failed.summary.slice(0, -1)}; the deploy policy is overridden by ada since 2026-11-22: "A pilot. See ticket 7".`,
      );
    });
  });
});
