import type { ScoreRow } from '../../cli/score/api-reply.js';
import type { GeneratedLead } from '../lead-generator.js';
import type { LeadChange } from './changed-leads.js';
import type { RunningService } from './demo-stage.js';
import type { Workspace } from './demo-workspace.js';
import type { FirstCall } from './first-call.js';
import type { RankingQuality } from './ranking-quality.js';
import type { ScoredPass } from './score-pass.js';

/** A lead with its answer. */
export interface ScoredLead {
  readonly lead: GeneratedLead;
  readonly row: ScoreRow;
}

/** A lead that was scored twice. */
export interface RescoredLead extends ScoredLead {
  readonly change: LeadChange;
  /** New score minus the score before. */
  readonly delta: number;
}

/** Everything that the tour has to show. */
export interface TourResult {
  readonly service: RunningService;
  readonly workspace: Workspace;
  readonly first: ScoredPass;
  /** Best score first. */
  readonly ranked: readonly ScoredLead[];
  readonly quality: RankingQuality;
  readonly second: ScoredPass;
  /** Largest rise first. */
  readonly moved: readonly RescoredLead[];
  readonly call: FirstCall;
  /** What the call was answered with. */
  readonly reply: Readonly<Record<string, unknown>>;
}

/** Leads with their answers, best first: by score, then by likelihood, then in the order of the file. */
export function rankedLeads(leads: readonly GeneratedLead[], rows: readonly ScoreRow[]): ScoredLead[] {
  return leads
    .flatMap((lead, index) => {
      const row = rows[index];
      return row === undefined ? [] : [{ lead, row }];
    })
    .sort(
      (one, other) =>
        other.row.score - one.row.score || other.row.conversion_likelihood - one.row.conversion_likelihood,
    );
}

/** Leads that were scored before, largest rise first. */
export function movedLeads(
  leads: readonly GeneratedLead[],
  { changes, rows }: { readonly changes: readonly LeadChange[]; readonly rows: readonly ScoreRow[] },
): RescoredLead[] {
  return leads
    .flatMap((lead, index) => {
      const change = changes[index];
      const row = rows[index];
      if (change === undefined || row?.delta === undefined) return [];
      return [{ lead, row, change, delta: row.delta }];
    })
    .sort((one, other) => other.delta - one.delta);
}
