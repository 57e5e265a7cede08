import type { Logger } from 'pino';

/** A server that all processes need. */
export type ServerName = 'Redis' | 'MongoDB';

/** Longer than connections take to come back one after the other. */
const settleMs = 1_000;

interface Absence {
  readonly beganMs: number;
  failures: number;
  answeredMs: number | undefined;
  timer: NodeJS.Timeout | undefined;
}

/**
 * The absence of one server, as a process sees it. Writes one line when the server does not answer, and one when it
 * answers again. Connections, queues and repeated work all fail meanwhile; their failures are counted.
 */
export class Outage {
  private absence: Absence | undefined;

  /** @param isReported false for a part whose main thread or pool has connections of its own, and reports */
  constructor(
    private readonly server: ServerName,
    private readonly logger: Pick<Logger, 'warn' | 'info' | 'debug'>,
    private readonly isReported = true,
  ) {}

  /**
   * Notes a failure because the server is away.
   * @param failed the work that failed
   */
  failed(error: Error, failed: string): void {
    if (this.absence === undefined) {
      this.absence = { beganMs: performance.now(), failures: 0, answeredMs: undefined, timer: undefined };
      const fields = { server: this.server, error: error.message, failed };
      this.logger[this.isReported ? 'warn' : 'debug'](
        fields,
        `${this.server} does not answer, and this process tries again: check that the server is running and can be reached`,
      );
    }
    this.absence.failures += 1;
    this.absence.answeredMs = undefined;
    clearTimeout(this.absence.timer);
  }

  /** Notes an answer. The outage has ended when no failure follows within a second. */
  answered(): void {
    const { absence } = this;
    if (absence === undefined || absence.answeredMs !== undefined) return;
    const answeredMs = performance.now();
    absence.answeredMs = answeredMs;
    absence.timer = setTimeout(() => this.end(absence, answeredMs), settleMs).unref();
  }

  private end({ beganMs, failures }: Absence, answeredMs: number): void {
    this.absence = undefined;
    const fields = { server: this.server, awayS: Number(((answeredMs - beganMs) / 1000).toFixed(1)), failures };
    this.logger[this.isReported ? 'info' : 'debug'](fields, `${this.server} answers again`);
  }
}

/** Errors of the MongoDB driver, and our own, that a missing or changing primary causes. */
const mongoNames: ReadonlySet<string> = new Set([
  ...['MongoTimeout', 'MongoNetworkError', 'MongoNetworkTimeoutError', 'MongoServerSelectionError'],
  ...['MongoPoolClearedError', 'PoolClearedOnNetworkError', 'MongoPoolClosedError', 'MongoNotConnectedError'],
  ...['MongoTopologyClosedError', 'MongoWaitQueueTimeoutError'],
]);
/** NotWritablePrimary, NotPrimaryNoSecondaryOk, PrimarySteppedDown, ShutdownInProgress, InterruptedAtShutdown, … */
const mongoCodes: ReadonlySet<unknown> = new Set([10_107, 13_435, 13_436, 189, 91, 11_600, 11_602]);

const redisNames: ReadonlySet<string> = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError']);
const redisMessages =
  /^(Connection is closed|Command timed out|Socket timeout\. |Stream isn't writeable|Cluster isn't ready|None of startup nodes|Failed to refresh slots cache|Node is disconnected|Too many Cluster redirections\. Last error: Error: Connection is closed|connect ETIMEDOUT|LOADING |MASTERDOWN |CLUSTERDOWN )/;
/** Redis is the only server whose connections fail with a bare error of the system: MongoDB's driver wraps it. */
const socketCodes: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
]);

/** The server whose absence an error reports; undefined for any other error. */
export function absentServer(error: unknown): ServerName | undefined {
  for (let each = error; each instanceof Error; each = each.cause) {
    const code = 'code' in each ? each.code : undefined;
    if (mongoNames.has(each.name) || (each.name === 'MongoServerError' && mongoCodes.has(code))) return 'MongoDB';
    if (redisNames.has(each.name) || redisMessages.test(each.message)) return 'Redis';
    if (each === error && socketCodes.has(code)) return 'Redis';
  }
  return undefined;
}
