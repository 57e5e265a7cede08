import { type Clock, dayMs } from '../../../shared/contract/dates.js';
import { callIdFloor } from '../../../shared/contract/identifiers.js';
import type { Logger } from '../../../shared/process/logger.js';
import type { Db } from '../../../shared/store/connection/connect.js';
import { type CandidateRun, CandidateRunStore } from '../../../shared/store/models/candidate-runs.js';
import { CandidateScoreStore } from '../../../shared/store/models/candidate-scores.js';
import { versionId } from '../../../shared/store/models/model-versions.js';
import { type Model, ModelStore } from '../../../shared/store/models/models.js';

export interface FollowCandidatesDeps {
  readonly database: Db;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Max duration of a call and of what follows it: a lease. */
  readonly leaseMs: number;
}

/** A run scores the leads that were scored first within this time. */
const windowMs = 365 * dayMs;
/** A younger call may still be voided, or recorded. */
const finalAfterMs = (leaseMs: number): number => 3 * leaseMs + 30_000;

/**
 * Begins a run for each new candidate, or when another version scores calls. Ends the runs of versions that are no
 * candidates any longer, and removes their scores. The scores of a version that has come to score calls stay. Any
 * number of processes may do this at once.
 * @returns the models whose runs are to go on
 * @throws errors of MongoDB
 */
export async function followCandidates(deps: FollowCandidatesDeps): Promise<readonly string[]> {
  const { database } = deps;
  const runs = new CandidateRunStore(database);
  // Runs first: one that another process begins meanwhile must find its candidate.
  const stored = new Map((await runs.list()).map((run) => [run._id, run]));
  const models = await new ModelStore(database).withCandidates();
  const running: string[] = [];
  for (const model of models) {
    const id = versionId(model._id, model.candidate?.version ?? '');
    const run = stored.get(id);
    stored.delete(id);
    if (run === undefined || !isOf(run, model)) await begin(model, run, deps);
    if (run === undefined || !isOf(run, model) || run.state === 'running') running.push(model._id);
  }
  const others = [...stored.values()];
  const current = await new ModelStore(database).versionsOf(others.filter(mayHaveCome).map(({ model }) => model));
  for (const run of others) if (!mayHaveCome(run) || current.get(run.model) !== run.version) await endRun(run, deps);
  return running;
}

const isOf = (run: CandidateRun, { version, candidate }: Model): boolean =>
  run.state !== 'dropped' && run.base === version && run.since.getTime() === candidate?.since.getTime();

/** Whether a version may have come to score calls after its run. Then its verdict counts what it scored before. */
const mayHaveCome = ({ state, base, version }: CandidateRun): boolean => state === 'completed' && base !== version;

async function begin(
  { _id: model, organisation_id: org, version: base, candidate }: Model,
  former: CandidateRun | undefined,
  { database, clock, leaseMs, logger }: FollowCandidatesDeps,
): Promise<void> {
  if (candidate === undefined) return;
  const { version, since } = candidate;
  const nowMs = clock.now();
  const run: CandidateRun = {
    _id: versionId(model, version),
    ...{ org, model, version, since, base },
    state: 'running',
    from_id: callIdFloor(nowMs - windowMs, org),
    until_id: callIdFloor(nowMs - finalAfterMs(leaseMs), org),
    ...{ rows: 0, seen: 0, refused: 0 },
    // Another time than that of the former run, also when the clock steps back.
    started_at: new Date(Math.max(nowMs, (former?.started_at.getTime() ?? 0) + 1)),
  };
  if (await new CandidateRunStore(database).begin(run, former))
    logger.info({ model, version, base }, 'run of a candidate begins');
}

/**
 * Removes the scores of a version that is no candidate any longer. The run stays a while as `dropped`, and its scores
 * are removed once more: a process that was frozen may have stored some meanwhile.
 */
async function endRun(run: CandidateRun, { database, clock, leaseMs }: FollowCandidatesDeps): Promise<void> {
  const runs = new CandidateRunStore(database);
  const scores = new CandidateScoreStore(database);
  const nowMs = clock.now();
  if (run.state !== 'dropped') {
    await runs.drop(run, new Date(nowMs));
    await scores.removeVersion(run);
    return;
  }
  if (nowMs < (run.ended_at?.getTime() ?? 0) + finalAfterMs(leaseMs)) return;
  await scores.removeVersion(run);
  await runs.remove(run);
}
