import {
  closedObject,
  count,
  countOrNull,
  flag,
  instant,
  instantOrNull,
  list,
  number,
  numberOrNull,
  record,
  text,
  textOrNull,
} from '../../contract/schema.js';
import { bucket, day, month, organisationId } from './members.js';
import { verdictSchema } from './models.js';
import { plan, policy } from './organisations.js';
import { auditEntrySchema } from './people.js';

/** Month-to-date usage of a bucket, in records. */
const usageMembers = {
  bucket,
  current: count,
  limit: count,
  remaining: { type: 'integer' },
  in_grace: flag,
  /** Null for test keys, which stop at their limit. */
  backstop: countOrNull,
} as const;

export const usageInput = closedObject({ org_id: organisationId, 'month?': month });

export const refusedCallsInput = closedObject({ org_id: organisationId });
/** Latest first, at most 200 of the last seven days. */
export const refusedCallsOutput = closedObject({
  calls: list(
    closedObject({
      at: instant,
      key_id: text,
      key_name: textOrNull,
      /** The code and the status of the error. */
      code: text,
      status: count,
      /** The method and the route, such as `POST /v1/score`. */
      route: text,
      request_id: text,
      /** Says what to do about this code. */
      remedy: text,
    }),
  ),
});

/** Counters in Redis beside the sum of the ledger. For the command line: it reads every call of the month. */
export const usageCountersOutput = closedObject({
  org_id: text,
  month,
  buckets: list(
    closedObject({
      ...usageMembers,
      leased: count,
      ledger: count,
      source: { type: 'string', enum: ['redis', 'ledger'] },
    }),
  ),
});

export const reconcileUsageOutput = closedObject({
  org_id: text,
  month,
  buckets: list(
    closedObject({
      bucket,
      used_before: countOrNull,
      used: count,
      ledger: count,
      leased: count,
      outcome: { type: 'string', enum: ['agreed', 'corrected', 'restored', 'busy'] },
    }),
  ),
});

/** `calls` is null for days before calls were counted. `is_open`: the day's records may still change. */
const usageDay = closedObject({ day, records: count, calls: countOrNull, is_open: flag });

/** `GET /usage`: also as CSV with `?format=csv`. */
export const usageOutput = closedObject({
  org_id: text,
  /** When the organisation was created: days before have no records. */
  created_at: instant,
  month,
  resets_at: instant,
  buckets: list(closedObject({ ...usageMembers, days: list(usageDay) })),
  /** The last twelve months, oldest first. */
  months: list(closedObject({ month, live: count, test: count })),
});

/** The first and the last day, UTC. Without them the last 30 days. Days that have not begun are left out. */
export const usageDaysInput = closedObject({ org_id: organisationId, 'from?': day, 'to?': day });

const sums = closedObject({ records: count, calls: countOrNull, refused: count });

/** At most 92 days, and as many before them. `calls` is null for days before calls were counted. */
export const usageDaysOutput = closedObject({
  org_id: text,
  /** When the organisation was created: days before have no records. */
  created_at: instant,
  from: day,
  to: day,
  /** The days before, of the same number. Null when the organisation is younger than all of them. */
  before: {
    type: ['object', 'null'],
    properties: { from: day, to: day },
    required: ['from', 'to'],
    additionalProperties: false,
  },
  buckets: list(
    closedObject({
      bucket,
      sums,
      days: list(closedObject({ day, records: count, calls: countOrNull, is_open: flag, refused: count })),
      sums_before: sums,
      /** One for each of `days`, in records and in refused calls. Empty without days before. */
      days_before: list(closedObject({ day, records: count, refused: count })),
    }),
  ),
  /** Changes that may explain the figures, oldest first, at most 100: versions, Live API, policy, plan, keys, jobs. */
  events: list(closedObject({ at: instant, day, text, by: text })),
  has_more_events: flag,
});

export const overviewInput = closedObject({ org_id: organisationId, 'bucket?': bucket });

/** Everything on the first page. `activity` is up to a minute late, and is not the truth of metering. */
export const overviewOutput = closedObject({
  org_id: text,
  plan,
  /** Records a month that test keys may score. */
  test_limit: count,
  policy,
  /** When the organisation was created: days before have no records. */
  created_at: instant,
  /** The first steps, and which of them are done. Calls of the playground do not count. */
  first_run: closedObject({ model: flag, key: flag, call: flag, outcomes: flag }),
  month,
  resets_at: instant,
  usage: closedObject(usageMembers),
  /** Usage at the end of the month at the pace so far; null before the third day. */
  forecast: {
    type: ['object', 'null'],
    properties: { records: count },
    required: ['records'],
    additionalProperties: false,
  },
  days: list(usageDay),
  activity: closedObject({
    calls: count,
    refused: count,
    /** Calls by error code. */
    errors: record(count),
    p50_ms: numberOrNull,
    p99_ms: numberOrNull,
    days: list(closedObject({ day, calls: count, refused: count, p50_ms: numberOrNull, p99_ms: numberOrNull })),
  }),
  models: list(
    closedObject({
      model_id: text,
      name: text,
      version: text,
      live_api: flag,
      validation: verdictSchema,
      /** Conversion rates of the five score bands, lowest scores first; absent before the first grade. */
      'rates?': list(number),
      'lift?': number,
      records_this_month: countOrNull,
    }),
  ),
  /** `models` has the eight with the most records of this month. */
  model_count: count,
  crm: closedObject({ first_call_at: instantOrNull, last_call_at: instantOrNull }),
  /** The latest five, latest first. */
  audit: list(auditEntrySchema),
});

const secondsOrNull = { type: ['number', 'null'], minimum: 0 } as const;

/** The operator's view of queues and pools. */
export const fleetOutput = closedObject({
  lanes: list(
    closedObject({
      lane: text,
      /** Null but for scoring lanes. During a release that changes the messages, each version has a row. */
      message_version: countOrNull,
      waiting: count,
      active: count,
      delayed: count,
      failed: count,
      /** Processes that take jobs of this lane. */
      workers: count,
      /**
       * Seconds that a chunk which arrives now waits, and the age of the one that has waited longest. They are of the
       * lane, so only its first row has them. Null when no pool has measured them within 30 s.
       */
      backlog_seconds: secondsOrNull,
      oldest_chunk_seconds: secondsOrNull,
    }),
  ),
  /** Versions that no process scores for an hour, because they ended several. */
  quarantine: list(closedObject({ model_id: text, version: text, until: instant })),
  strikes: list(closedObject({ model_id: text, version: text, deaths: count, last_at: instant })),
  /** Whether a pool has begun a sweep of leases within the last seconds. */
  sweep_is_running: flag,
  /** The latest ten sweeps of leases, latest first: leases settled and released, counters recounted and failed. */
  sweeps: list(
    closedObject({ at: instant, took_ms: count, settled: count, released: count, recounted: count, failed: count }),
  ),
  calls_to_void: count,
  /** Running processes; null when Redis forbids CLIENT LIST. */
  processes: {
    type: ['object', 'null'],
    properties: { gateways: count, pools: count, bulk_runners: count, consoles: count },
    required: ['gateways', 'pools', 'bulk_runners', 'consoles'],
    additionalProperties: false,
  },
  redis: closedObject({ used_bytes: count, max_bytes: countOrNull, version: text }),
  mongodb: closedObject({ version: text }),
});
