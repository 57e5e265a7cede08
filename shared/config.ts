/**
 * The one place that reads the environment. Every variable is checked here, once, at start; a wrong one is named.
 * `.env.example` lists them with their defaults.
 */

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly adminPort: number;
  readonly workerAdminPort: number;
  /** Undefined when not set: `npm start` then runs private servers, the CLI looks for them. */
  readonly redisUrl: string | undefined;
  readonly mongoUrl: string | undefined;
  /** Without a trailing slash. Undefined when not set: the gateway then speaks of the address it listens on. */
  readonly baseUrl: string | undefined;
  readonly docsUrl: string | undefined;
  readonly keyBrand: string;
  readonly keyPepper: string;
  /** Worker processes of one pool. */
  readonly workers: number;
  readonly requestTimeoutMs: number;
  readonly webhookTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly maxBodyBytes: number;
  readonly legacyAliases: 'serve' | 'gone';
  readonly logLevel: string;
  readonly retentionDays: number;
  /** Moves the service's idea of now; rehearsals and tests only. */
  readonly clockOffsetMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Used where KEY_PEPPER is not set and the database is on this machine: enough to try things, not to run them. */
const developmentPepper = 'leadscore-development-pepper';
const loopbackHost = /^(mongodb|redis)(\+srv|s)?:\/\/([^@/]*@)?(localhost|127\.\d+\.\d+\.\d+|\[::1\])[:/,?]?/;

/** A setting that cannot be used; the message names the variable and what it must be. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/**
 * The settings of this process.
 * @param environment variables by name; the process's own by default
 * @param cores what WORKERS defaults to
 * @throws ConfigError naming the first variable that cannot be used
 */
export function readConfig(environment: Environment = process.env, cores = 2): Config {
  const read = new Reader(environment);
  const mongoUrl = read.url('MONGODB_URL', ['mongodb:', 'mongodb+srv:']);
  return Object.freeze({
    host: read.text('HOST', '127.0.0.1'),
    port: read.integer('PORT', 8080, 0, 65535),
    adminPort: read.integer('ADMIN_PORT', 9464, 0, 65535),
    workerAdminPort: read.integer('WORKER_ADMIN_PORT', 9465, 0, 65535),
    redisUrl: read.url('REDIS_URL', ['redis:', 'rediss:', 'unix:']),
    mongoUrl,
    baseUrl: read.url('BASE_URL', ['http:', 'https:'])?.replace(/\/+$/, ''),
    docsUrl: read.url('DOCS_URL', ['http:', 'https:'])?.replace(/\/+$/, ''),
    keyBrand: read.matching(
      'KEY_BRAND',
      'leadscore',
      /^[a-z][a-z0-9]{0,30}$/,
      '1-31 lower-case letters and digits',
    ),
    keyPepper: read.pepper(mongoUrl),
    workers: read.integer('WORKERS', cores, 1, 256),
    requestTimeoutMs: read.integer('REQUEST_TIMEOUT_MS', 10_000, 100, 300_000),
    webhookTimeoutMs: read.integer('WEBHOOK_TIMEOUT_MS', 8_000, 100, 300_000),
    bodyTimeoutMs: read.integer('BODY_TIMEOUT_MS', 30_000, 100, 600_000),
    maxBodyBytes: read.integer('MAX_BODY_BYTES', 8 * 1024 * 1024, 1024, 256 * 1024 * 1024),
    legacyAliases: read.choice('LEGACY_ALIASES', ['serve', 'gone'] as const),
    logLevel: read.choice('LOG_LEVEL', [
      'info',
      'silent',
      'fatal',
      'error',
      'warn',
      'debug',
      'trace',
    ] as const),
    retentionDays: read.integer('RETENTION_DAYS', 760, 1, 36_500),
    clockOffsetMs: read.integer('CLOCK_OFFSET_MS', 0, -3_200_000_000_000, 3_200_000_000_000),
  });
}

/**
 * The environment for a child process: this process's own with some variables set or, by undefined, left out.
 * @param changes variables by name
 */
export function childEnvironment(changes: Environment): Record<string, string> {
  const merged = { ...process.env, ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Whether a database address is on this machine. */
export const isLoopbackUrl = (url: string): boolean => loopbackHost.test(url) || url.startsWith('unix:');

class Reader {
  constructor(private readonly environment: Environment) {}

  text(name: string, fallback: string): string {
    const value = this.environment[name];
    return value === undefined || value === '' ? fallback : value;
  }

  integer(name: string, fallback: number, least: number, most: number): number {
    const text = this.text(name, String(fallback));
    const value = Number(text);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    throw new ConfigError(`${name} must be a whole number from ${least} to ${most}, but is "${text}"`);
  }

  choice<const Choice extends string>(name: string, choices: readonly [Choice, ...Choice[]]): Choice {
    const text = this.text(name, choices[0]);
    const found = choices.find((choice) => choice === text);
    if (found !== undefined) return found;
    throw new ConfigError(`${name} must be one of ${choices.join(', ')}, but is "${text}"`);
  }

  matching(name: string, fallback: string, pattern: RegExp, description: string): string {
    const text = this.text(name, fallback);
    if (pattern.test(text)) return text;
    throw new ConfigError(`${name} must be ${description}, but is "${text}"`);
  }

  url(name: string, protocols: readonly string[]): string | undefined {
    const text = this.text(name, '');
    if (text === '') return undefined;
    if (protocols.some((protocol) => text.startsWith(protocol))) return text;
    throw new ConfigError(`${name} must be an address that starts with ${protocols.join(' or ')}`);
  }

  pepper(mongoUrl: string | undefined): string {
    const pepper = this.text('KEY_PEPPER', '');
    if (pepper.length >= 16) return pepper;
    if (pepper !== '') throw new ConfigError('KEY_PEPPER must have at least 16 characters');
    if (mongoUrl === undefined || isLoopbackUrl(mongoUrl)) return developmentPepper;
    throw new ConfigError(
      'KEY_PEPPER must be set: API keys are stored as hashes made with it (16 characters or more)',
    );
  }
}
