import { type Clock, dayMs, monthOf, monthStartMs } from '../../shared/contract/dates.js';
import { ApiError } from '../../shared/contract/errors.js';
import type { UsageLedger } from '../../shared/store/calls/usage-ledger.js';
import type { OutcomeStore } from '../../shared/store/validation/outcomes.js';

/** Leads whose outcomes an organisation may always report. */
const minOutcomes = 10_000;
/** Leads with an outcome for each record that was scored within retention. Most leads are scored more than once. */
const outcomesPerRecord = 5;
/** Share of the room that one gateway gives away before it counts again: others do the same. */
const roomShare = 1 / 10;
const minShare = 1_000;
const maxAgeMs = 60_000;
const refusedAgainMs = 10_000; // after a refusal, the next count is this much later than the last
const maxOrganisations = 10_000;

/** Room for further outcomes of an organisation. */
interface Room {
  readonly countedMs: number;
  readonly limit: number;
  /** New outcomes that are below the limit. */
  left: number;
  /** The part of `left` that this gateway accepts before it counts again. */
  share: number;
}

export interface OutcomeLimitDeps {
  readonly outcomes: Pick<OutcomeStore, 'count'>;
  readonly ledger: Pick<UsageLedger, 'snapshot'>;
  readonly clock: Clock;
  readonly retentionDays: number;
}

/**
 * Limits the leads whose outcomes an organisation may store, by the records that it has scored. Reports are free, and
 * kept. Several gateways together may pass the limit by what they accept at about the same time.
 */
export class OutcomeLimit {
  private readonly rooms = new Map<string, Promise<Room>>();

  constructor(private readonly deps: OutcomeLimitDeps) {}

  /**
   * Takes room for reports on some leads. Leads that have an outcome need none.
   * @returns to be called with the number of leads that were new
   * @throws ApiError refusedRequest when they would pass the limit; errors of MongoDB
   */
  async take(organisationId: string, crmIds: ReadonlySet<string>): Promise<(added: number) => void> {
    let room = await this.roomOf(organisationId, (counted) => isOlder(counted, maxAgeMs));
    let taken = crmIds.size;
    if (taken > room.share) {
      taken -= await this.deps.outcomes.count(organisationId, crmIds);
      const isUsedUp = (counted: Room): boolean =>
        taken > counted.share && (taken <= counted.left || isOlder(counted, refusedAgainMs));
      if (taken > room.share) room = await this.roomOf(organisationId, isUsedUp);
      if (taken > room.left) throw tooMany(room.limit, this.deps.retentionDays);
    }
    const change = (by: number): void => {
      room.left -= by;
      room.share -= by;
    };
    change(taken);
    return (added) => change(added - taken);
  }

  /** The room as last counted, or counted again if that is outdated. Concurrent calls share a count. */
  private async roomOf(organisationId: string, isOutdated: (room: Room) => boolean): Promise<Room> {
    const known = this.rooms.get(organisationId);
    const room = await known?.catch(() => undefined);
    if (room !== undefined && !isOutdated(room)) return room;
    if (this.rooms.get(organisationId) === known) {
      if (this.rooms.size >= maxOrganisations) this.rooms.clear();
      this.rooms.set(organisationId, this.count(organisationId));
    }
    return await (this.rooms.get(organisationId) ?? this.count(organisationId));
  }

  private async count(organisationId: string): Promise<Room> {
    const countedMs = performance.now();
    const stored = await this.deps.outcomes.count(organisationId);
    const limit =
      2 * stored < minOutcomes
        ? minOutcomes
        : Math.max(minOutcomes, outcomesPerRecord * (await this.scoredRecords(organisationId, stored)));
    const left = limit - stored;
    return { countedMs, limit, left, share: Math.min(left, Math.max(minShare, left * roomShare)) };
  }

  /**
   * The live records within retention, from roll-ups of the ledger; no more months of them than make plenty of room.
   */
  private async scoredRecords(organisationId: string, stored: number): Promise<number> {
    const nowMs = this.deps.clock.now();
    const firstMonth = monthOf(nowMs - this.deps.retentionDays * dayMs);
    let records = 0;
    for (let month = monthOf(nowMs); month >= firstMonth; month = monthOf(monthStartMs(month) - dayMs)) {
      const counter = { organisationId, bucket: 'live', month } as const;
      records += (await this.deps.ledger.snapshot(counter, { recentMs: 0, nowMs })).records;
      if (outcomesPerRecord * records > 2 * stored) break;
    }
    return records;
  }
}

const isOlder = ({ countedMs }: Room, ageMs: number): boolean => performance.now() - countedMs > ageMs;

const tooMany = (limit: number, retentionDays: number): ApiError =>
  new ApiError(
    'refusedRequest',
    `The workspace may have outcomes of ${limit} leads: ${minOutcomes}, or ${outcomesPerRecord} for each record ` +
      `scored with a live key in the last ${retentionDays} days if that is more. The call would pass this. Report only ` +
      'leads that you score. No outcome of the call was recorded.',
  );
