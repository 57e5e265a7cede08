import { expect } from 'chai';
import { checkBundle } from '../../../shared/bundle/check-bundle.js';
import { dayMs } from '../../../shared/contract/dates.js';
import { createLogger } from '../../../shared/process/logger.js';
import type { CandidateSegment } from '../../../shared/store/models/candidate-scores.js';
import { storeVersion } from '../../../shared/store/models/store-version.js';
import { OutcomeStore } from '../../../shared/store/validation/outcomes.js';
import { createDueJobs } from '../../../worker/upkeep/rescore.js';
import { recordCall } from '../../api/bulk/candidates/candidate-rig.js';
import { cliDocument, settingsOf } from '../../scripts/cli/cli-call.js';
import { eventually } from '../../support/eventually.js';
import { scored } from '../../support/http/score-reply.js';
import { BulkJob } from '../../support/jobs/bulk-job.js';
import { sampleBundle } from '../../support/models/sample-bundle.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../support/service/workspace.js';
import { inputCall, jobOf, newJob } from '../jobs/job-calls.js';

const withinMs = 60_000;
const logger = createLogger('silent', 'test');
const horizonDays = 20;
const trainedLeads = 100;
const heldOutLeads = 600;
/** The rescoring takes fewer leads than there are, so some keep their score. */
const atMost = 650;
const validation = { horizon_days: horizonDays, base_rate: 0.2 };
const sizeOf = (lead: number): number => (lead * 379) % 500;
const converts = (lead: number): boolean => sizeOf(lead) >= 400;
const heldOut = Array.from({ length: heldOutLeads }, (_, row) => trainedLeads + row);
const leadsFrom = (from: number, count: number) => Array.from({ length: count }, (_, row) => `L-${from + row}`);

/** The score that the recorded calls have, which tells nothing about a lead. */
const recordedScore = 50;

describe('a model that is changed with evidence', function () {
  this.timeout(4 * withinMs);
  let own: TestWorkspace;
  let service: RunningService;
  let settings: Readonly<Record<string, string>>;

  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    settings = await settingsOf(service);
  }, 'bulk');

  const model = (...words: readonly string[]) => {
    const [command = '', ...others] = words;
    return cliDocument(['model', command, own.model._id, ...others], settings);
  };

  /** Leads of the training months and of the held-out ones, with their outcomes. Large companies convert. */
  async function recordPast(nowMs: number): Promise<void> {
    const record = (first: number, count: number, daysAgo: number) =>
      recordCall(own, {
        ...{ atMs: nowMs - daysAgo * dayMs, version: own.model.version, leads: leadsFrom(first, count) },
        fields: (row) => [sizeOf(first + row), null, null],
      });
    await record(0, trainedLeads, 70);
    await record(trainedLeads, heldOutLeads, 40);
    const outcomes = Array.from({ length: trainedLeads + heldOutLeads }, (_, lead) => ({
      ...{ crmId: `L-${lead}`, converted: converts(lead) },
      at: new Date(nowMs - 30 * dayMs),
    }));
    await new OutcomeStore(service.stores.database).record({
      ...{ organisationId: own.id, outcomes, receivedAt: new Date(nowMs) },
    });
  }

  /** Stores a version that was trained on the leads before the held-out months, and that ranks by the company size. */
  async function storeTrained(nowMs: number): Promise<void> {
    const [trainedAt, dataUntil] = [nowMs - 5 * dayMs, nowMs - 60 * dayMs].map((ms) => new Date(ms).toISOString());
    const files = sampleBundle({
      ...{ version: '2.0.0', weights: [0.02, 0, 0, 0, 0, 0], intercept: -5 },
      manifest: { trained_at: trainedAt, validation: { ...validation, data_until: dataUntil } } as object,
    });
    const { database } = service.stores;
    const [bundle, now] = [checkBundle(files), new Date(nowMs)];
    await storeVersion({ database, organisationId: own.id, modelId: own.model._id, bundle, now });
  }

  /** The job of stored leads that is due, as upkeep creates it once a minute. */
  async function rescored(version: string): Promise<BulkJob> {
    await createDueJobs({ database: service.stores.database, clock: service.clock, logger });
    const { rescore } = await model('show');
    const job = new BulkJob(own, (rescore as { readonly job_id: string }).job_id);
    const { version: scoredBy, settled } = await job.until('completed');
    expect(scoredBy).to.equal(version);
    expect(settled).to.include({ rows: atMost, scored: atMost, failed: 0, empty: 0 });
    return job;
  }

  const scoresOf = async (job: BulkJob): Promise<Record<string, number>> =>
    Object.fromEntries((await job.cells()).map(([, crmId = '', score]) => [crmId, Number(score)]));

  it('is a candidate, is better, scores calls without an error, scores stored leads again, and is rolled back', async () => {
    const nowMs = service.clock.now();
    await recordPast(nowMs);
    await storeTrained(nowMs);
    await model('candidate', '2.0.0');
    const comparison = async () => (await model('compare')).comparison as object | null;
    await eventually(async () => expect(await comparison()).to.not.equal(null), withinMs);
    expect(await comparison()).to.include({
      ...{ verdict: 'better', base: '1.0.0', scored: trainedLeads + heldOutLeads },
      ...{
        seen: trainedLeads,
        leads: heldOutLeads,
        conversions: heldOut.filter(converts).length,
        horizon_days: horizonDays,
      },
    });
    expect(await own.ledgerSum(), 'a run is not counted').to.equal(0);
    const segments = await service.stores.database
      .collection<CandidateSegment>('candidate_scores')
      .find({ model: own.model._id })
      .toArray();
    const byCandidate = new Map(
      segments.flatMap(({ crm_ids: ids, scores }) => ids.map((crmId, row) => [crmId, scores[row]])),
    );
    expect(byCandidate.size).to.equal(trainedLeads + heldOutLeads);

    await model('set', '--rescore', 'promotion', '--key', own.live.key._id, '--at-most', String(atMost));
    const calls = new Calls(own);
    await calls.until('1.0.0');
    expect(await model('promote')).to.include({ version: '2.0.0' });
    await calls.until('2.0.0');
    const answered = await calls.end();
    const again = await scoresOf(await rescored('2.0.0'));
    expect(Object.keys(again)).to.have.length(atMost);
    for (const [crmId, score] of Object.entries(again)) expect(score, crmId).to.equal(byCandidate.get(crmId));
    expect(new Set(Object.values(again)).size, 'scores that differ').to.be.above(20);
    for (const crmId of leadsFrom(trainedLeads, heldOutLeads)) expect(again, crmId).to.have.property(crmId);
    const left = leadsFrom(0, trainedLeads).filter((crmId) => again[crmId] === undefined);
    expect(left, 'the leads that were sent last are taken').to.have.length(trainedLeads + heldOutLeads - atMost);
    expect(await own.ledgerSum()).to.equal(answered + atMost);
    expect(await latestOf(`L-${trainedLeads}`)).to.deep.equal(['2.0.0', byCandidate.get(`L-${trainedLeads}`)]);
    expect(await latestOf(left[0] ?? '')).to.deep.equal(['1.0.0', recordedScore]);

    expect(await model('rollback')).to.include({ version: '1.0.0' });
    const later = new Calls(own);
    await later.until('1.0.0');
    const answeredLater = await later.end();
    const back = await scoresOf(await rescored('1.0.0'));
    expect(Object.keys(back).sort()).to.deep.equal(Object.keys(again).sort());
    expect(back).to.not.deep.equal(again);
    expect((await latestOf(`L-${trainedLeads}`))[0]).to.equal('1.0.0');
    expect(await own.ledgerSum()).to.equal(answered + answeredLater + 2 * atMost);
    await eventually(async () => {
      const left = await service.stores.database
        .collection('candidate_scores')
        .countDocuments({ model: own.model._id });
      expect(left, 'scores of the version that was left').to.equal(0);
    }, withinMs);
  });

  it('leaves the jobs that were created before a change of the version under theirs', async () => {
    const { job_id: id } = await newJob(own);
    await own.addVersion(sampleBundle({ version: '2.0.0', intercept: 3 }));
    const calls = new Calls(own);
    await calls.until('2.0.0');
    await calls.end();
    const [row] = scored(await own.score([{ company_size: 50 }])).scores;
    expect(row?.score).to.equal(95);
    jobOf(await inputCall(own, id, 'PUT', { bytes: Buffer.from('crm_id,company_size\nA,50\n') }));
    const job = new BulkJob(own, id);
    expect((await job.until('completed')).version).to.equal('1.0.0');
    expect((await job.cells())[0]?.slice(0, 3)).to.deep.equal(['A', '50', '38']);
    expect(await latestOf('A')).to.deep.equal(['1.0.0', 38]);
  });

  /** Version and score of a lead's latest score. */
  async function latestOf(crmId: string): Promise<readonly unknown[]> {
    const reply = await own.call(`/v1/scores/${crmId}`);
    const { scores } = JSON.parse(reply.text) as {
      readonly scores: readonly { readonly model_version: string; readonly score: number }[];
    };
    return [scores[0]?.model_version, scores[0]?.score];
  }
});

/** Calls of anonymous leads, one after another, each of which must be answered. */
class Calls {
  private readonly versions: string[] = [];
  private isOver = false;
  private calling: Promise<void> | undefined;

  constructor(private readonly own: TestWorkspace) {}

  /** Calls until a version has answered. */
  async until(version: string): Promise<void> {
    this.calling ??= this.go();
    await Promise.race([
      eventually(() => expect(this.versions.slice(-3)).to.deep.equal([version, version, version]), withinMs),
      this.calling,
    ]);
  }

  /** @returns the number of calls */
  async end(): Promise<number> {
    this.isOver = true;
    await this.calling;
    return this.versions.length;
  }

  private async go(): Promise<void> {
    while (!this.isOver) this.versions.push(scored(await this.own.score([{ company_size: 50 }])).model_version);
  }
}
