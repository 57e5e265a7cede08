import type { Db } from 'mongodb';
import { type SeededRandom, seededRandom } from '../../../../scripts/leads/seeded-random.js';
import { checkBundle } from '../../../../shared/bundle/check-bundle.js';
import { dayMs } from '../../../../shared/contract/dates.js';
import { callIdFloor, newId } from '../../../../shared/contract/identifiers.js';
import { callsCollection, type PredictionSegment } from '../../../../shared/store/calls/prediction-segment.js';
import { type CandidateRun, CandidateRunStore } from '../../../../shared/store/models/candidate-runs.js';
import {
  CandidateScoreStore,
  type CandidateSegment,
  candidateSegmentId,
} from '../../../../shared/store/models/candidate-scores.js';
import { versionId } from '../../../../shared/store/models/model-versions.js';
import { type Model, ModelStore } from '../../../../shared/store/models/models.js';
import { createModel, storeVersion } from '../../../../shared/store/models/store-version.js';
import { gradeAndPublish } from '../../../../worker/grading/job/grade-models.js';
import { type VersionToGrade, versionsToGrade } from '../../../../worker/grading/job/versions-to-grade.js';
import { sampleBundle } from '../../../support/models/sample-bundle.js';
import { RecordedWorld } from '../recorded-world.js';

export const startMs = Date.UTC(2026, 0, 10);
export const horizonDays = 20;
export const current = '1.0.0';
export const next = '2.0.0';
const manifest = { validation: { horizon_days: horizonDays } };

/** A lead that the current version has scored, and how another one scores it. */
export interface WorldLead {
  readonly crmId: string;
  readonly base: number;
  readonly candidate: number;
  readonly converted: boolean;
}

/** Draws leads whose conversions the candidate knows better than the current version. */
export function drawLeads(count: number, random: SeededRandom = seededRandom(7)): WorldLead[] {
  return Array.from({ length: count }, (_, lead) => {
    const decisive = random.uniform();
    const scoreBy = (noise: number) => Math.round(100 * ((1 - noise) * decisive + noise * random.uniform()));
    return {
      crmId: `L-${lead}`,
      base: scoreBy(0.6),
      candidate: scoreBy(0.1),
      converted: random.chance(0.4 * decisive ** 2),
    };
  });
}

/** A model whose recorded leads a candidate has scored, as the runner leaves them. */
export class CandidateWorld {
  readonly runs: CandidateRunStore;

  private constructor(
    private readonly database: Db,
    readonly model: Model,
    readonly recorded: RecordedWorld,
    private readonly leads: readonly WorldLead[],
  ) {
    this.runs = new CandidateRunStore(database);
  }

  /** Records a hundred leads a day and their outcomes, which arrive a day later. */
  static async of(database: Db, leads: readonly WorldLead[], nextBundle = sampleBundle({ version: next, manifest })) {
    const organisationId = newId('org');
    const now = new Date(startMs);
    const bundle = checkBundle(sampleBundle({ version: current, manifest }));
    const model = await createModel(database, { organisationId, bundle, now });
    await storeVersion({ database, organisationId, modelId: model._id, bundle: checkBundle(nextBundle), now });
    const recorded = new RecordedWorld(database, { organisationId, modelId: model._id, version: current });
    for (let from = 0; from < leads.length; from += 100) {
      const atMs = startMs + (from / 100) * dayMs;
      const some = leads.slice(from, from + 100);
      await recorded.call(
        atMs,
        some.map(({ crmId, base: score }) => ({ crmId, score })),
      );
      const at = new Date(atMs + dayMs);
      await recorded.outcomes(
        some.map(({ crmId, converted }) => ({ crmId, converted, at })),
        atMs + dayMs,
      );
    }
    return new CandidateWorld(database, model, recorded, leads);
  }

  /**
   * Makes a version the candidate, with the scores of a run.
   * @param options `seenDays`: the first days are among its training leads
   */
  async propose(
    version: string,
    { seenDays = 0, base = current, state = 'completed' as CandidateRun['state'] } = {},
  ): Promise<void> {
    const { _id: model, organisation_id: org } = this.model;
    const since = new Date(startMs);
    await new ModelStore(this.database).update(model, { candidate: { version, since, by: 'a test' } });
    const run: CandidateRun = {
      _id: versionId(model, version),
      ...{ org, model, version, since, base, state },
      ...{ from_id: callIdFloor(0, org), until_id: callIdFloor(startMs + 400 * dayMs, org) },
      ...{ rows: this.leads.length, seen: 100 * seenDays, refused: 0 },
      started_at: new Date(Date.now()),
      ended_at: new Date(),
    };
    await this.runs.begin(run, await this.runs.find(model, version));
    const leads = new Map(this.leads.map((lead) => [lead.crmId, lead]));
    const calls = this.database.collection<PredictionSegment>(callsCollection);
    const segments = await calls.find({ org, version: current }).toArray();
    const scores = segments.map((segment): CandidateSegment => {
      const rows = segment.crm_ids.flatMap((crmId) => leads.get(crmId ?? '') ?? []);
      const own = rows.map((lead) => (version === base ? lead.base : lead.candidate));
      return {
        _id: candidateSegmentId(segment._id, version),
        ...{ org, model, version, at: segment.at, arrived_at: segment.at, recorded_by: current },
        crm_ids: rows.map(({ crmId }) => crmId),
        scores: own,
        likelihoods: own.map((score) => 50 * score),
        base_scores: rows.map((lead) => lead.base),
        base_likelihoods: rows.map((lead) => 50 * lead.base),
        records: rows.length,
        ...(segment.at.getTime() < startMs + seenDays * dayMs && { seen: true as const }),
      };
    });
    await new CandidateScoreStore(this.database).put(scores);
  }

  async version(version: string): Promise<VersionToGrade> {
    const versions = await versionsToGrade(this.database, { modelId: this.model._id });
    const found = versions.find((each) => each.version === version);
    if (found === undefined) throw new Error(`no version ${version}`);
    return found;
  }

  /** Grades a version and compares it, as the grading lane does. */
  async grade(version: string, nowMs: number) {
    const clock = { now: () => nowMs };
    return await gradeAndPublish({ database: this.database, clock, redis: undefined }, await this.version(version));
  }

  async comparison(version = next) {
    const comparison = (await this.runs.find(this.model._id, version))?.comparison;
    if (comparison === undefined) throw new Error(`version ${version} was not compared`);
    return comparison;
  }
}
