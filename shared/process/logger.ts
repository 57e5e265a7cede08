import { writeSync } from 'node:fs';
import { type Logger as PinoLogger, pino } from 'pino';
import { withoutSecrets } from '../contract/identifiers.js';
import { absentServer, Outage, type ServerName } from './outage.js';

const standardOutput = 1;
/** How long one line waits for a slow reader of a non-blocking pipe. */
const maxWaitMs = 100;
const retryMs = 5;

/**
 * The log's output. A line that cannot be written (full disk, closed terminal, no reader) is dropped. It must neither
 * end nor block the process; pino's own output retries for ever when the process ends.
 */
const logOutput = {
  write(line: string): void {
    let rest: Uint8Array = Buffer.from(line);
    let waitedMs = 0;
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(standardOutput, rest));
      } catch (error) {
        if (!isBusy(error) || waitedMs >= maxWaitMs) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
        waitedMs += retryMs;
      }
    }
  },
};

const isBusy = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN';

/** Each server's absence, as this process sees it. */
type Outages = Readonly<Record<ServerName, Outage>>;

export type Logger = PinoLogger & { readonly outages: Outages };

/** The end of a MongoDB error, in a JSON text, that quotes the value of a key: it may be a lead. */
const duplicateKey = /(dup key: )(?:[^"\\]|\\.)*/g;

/**
 * A logger that writes one JSON object a line to standard output. Callers never log API keys, bodies or field values.
 * As a second defence, it redacts texts that look like a key and the headers that carry one: an error may contain them.
 * A warning whose `error` says that a server is away belongs to that server's outage; see outage.ts. It is written at
 * the level `debug`.
 * @param process `gateway`, `pool`, `worker` or `start`
 * @param options.reportsOutages false for a part whose main thread or pool reports them. An outage that only the part
 *   sees is then written at `debug` alone
 */
export function createLogger(
  level: string,
  process: string,
  { reportsOutages = true }: { readonly reportsOutages?: boolean } = {},
): Logger {
  const logger: PinoLogger = pino(
    {
      level,
      base: { process },
      redact: {
        paths: ['*.authorization', '*.headers.authorization', 'headers["x-api-key"]'],
        censor: '[key]',
      },
      hooks: {
        streamWrite: (line) => withoutSecrets(line).replace(duplicateKey, '$1[value]'),
        logMethod(args, method, written) {
          const [fields, message = ''] = args as [unknown, string?];
          const isOutage = written === pino.levels.values.warn && noted(fields, message);
          (isOutage ? logger.debug : method).apply(this, args);
        },
      },
      serializers: { error: (thrown: unknown) => describeError(thrown) },
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    logOutput,
  );
  const outages: Outages = {
    Redis: new Outage('Redis', logger, reportsOutages),
    MongoDB: new Outage('MongoDB', logger, reportsOutages),
  };
  const noted = (fields: unknown, message: string): boolean => {
    const error = typeof fields === 'object' && fields !== null && 'error' in fields ? fields.error : undefined;
    const server = absentServer(error);
    if (server === undefined || !(error instanceof Error)) return false;
    outages[server].failed(error, message);
    return true;
  };
  return Object.assign(logger, { outages });
}

const maxCauses = 5;

/** The loggable form of an error: kind, message, code, five lines of stack, and up to five causes. */
function describeError(thrown: unknown, depth = 0): unknown {
  if (!(thrown instanceof Error)) return thrown;
  return {
    kind: thrown.name,
    message: thrown.message,
    ...('code' in thrown ? { code: thrown.code } : {}),
    stack: thrown.stack
      ?.split('\n')
      .slice(1, 6)
      .map((line) => line.trim()),
    ...(thrown.cause === undefined || depth === maxCauses ? {} : { cause: describeError(thrown.cause, depth + 1) }),
  };
}
