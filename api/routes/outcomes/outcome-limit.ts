import { ApiError } from '../../../shared/contract/errors.js';
import { outcomeLimitOf } from '../../../shared/contract/plans.js';
import type { Organisation } from '../../../shared/store/accounts/organisations.js';
import type { OutcomeStore } from '../../../shared/store/validation/outcomes.js';

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

type Limited = Pick<Organisation, '_id' | 'plan' | 'limit'>;

export interface OutcomeLimitDeps {
  readonly outcomes: Pick<OutcomeStore, 'count'>;
  readonly retentionDays: number;
}

/**
 * Limits the leads whose outcomes an organisation may store, by its plan. Reports are free, and kept. Several gateways
 * together may pass the limit by what they accept at about the same time. A change of the plan takes a minute.
 */
export class OutcomeLimit {
  private readonly rooms = new Map<string, Promise<Room>>();

  constructor(private readonly deps: OutcomeLimitDeps) {}

  /**
   * Takes room for reports on some leads. Leads that have an outcome need none.
   * @returns to be called with the number of leads that were new
   * @throws ApiError refusedRequest when they would pass the limit; errors of MongoDB
   */
  async take(organisation: Limited, crmIds: ReadonlySet<string>): Promise<(added: number) => void> {
    let room = await this.roomOf(organisation, (counted) => isOlder(counted, maxAgeMs));
    let taken = crmIds.size;
    if (taken > room.share) {
      taken -= await this.deps.outcomes.count(organisation._id, crmIds);
      const isUsedUp = (counted: Room): boolean =>
        taken > counted.share && (taken <= counted.left || isOlder(counted, refusedAgainMs));
      if (taken > room.share) room = await this.roomOf(organisation, isUsedUp);
      if (taken > room.left) throw tooMany(room.limit);
    }
    const change = (by: number): void => {
      room.left -= by;
      room.share -= by;
    };
    change(taken);
    return (added) => change(added - taken);
  }

  /** The room as last counted, or counted again if that is outdated. Concurrent calls share a count. */
  private async roomOf(organisation: Limited, isOutdated: (room: Room) => boolean): Promise<Room> {
    const { _id } = organisation;
    const known = this.rooms.get(_id);
    const room = await known?.catch(() => undefined);
    if (room !== undefined && !isOutdated(room)) return room;
    if (this.rooms.get(_id) === known) {
      if (this.rooms.size >= maxOrganisations) this.rooms.clear();
      this.rooms.set(_id, this.count(organisation));
    }
    return await (this.rooms.get(_id) ?? this.count(organisation));
  }

  private async count(organisation: Limited): Promise<Room> {
    const countedMs = performance.now();
    const limit = outcomeLimitOf(organisation, this.deps.retentionDays);
    const left = limit - (await this.deps.outcomes.count(organisation._id));
    return { countedMs, limit, left, share: Math.min(left, Math.max(minShare, left * roomShare)) };
  }
}

const isOlder = ({ countedMs }: Room, ageMs: number): boolean => performance.now() - countedMs > ageMs;

const tooMany = (limit: number): ApiError =>
  new ApiError(
    'refusedRequest',
    `The workspace may have outcomes of ${limit} leads under its plan. The call would pass this. Report only leads that ` +
      'you score. No outcome of the call was recorded.',
  );
