import { isIP } from 'node:net';
import { maxPartitions } from '../messages/partitions.js';
import { type AddressKind, mongoAddresses, redisAddresses, webAddresses, webOrigins } from './addresses.js';
import { type Timings, timingsAt } from './timings.js';

/**
 * Only this file reads the environment. Every variable is checked once, at start; the error names the variable.
 * `.env.example` lists all variables with their defaults.
 */

export interface Config extends WorkerConfig {
  /** Secret of the HMAC with which API keys are hashed. */
  readonly keyPepper: string;
  /** The pepper before KEY_PEPPER, while a new one is rolled out. Undefined when not set. */
  readonly keyPepperPrevious: string | undefined;
  readonly keyPepperChanged: boolean;
  /** The identity provider of the console. */
  readonly oidc: OidcConfig | undefined;
}

/** An identity provider (OpenID Connect), and this installation's client there. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The settings of `npm start`, the demo and the command line. */
export interface OperatorConfig extends WorkerConfig {
  /** Undefined when not set: private servers have a pepper of their own. */
  readonly keyPepper: string | undefined;
  /** See `Config`. */
  readonly keyPepperPrevious: string | undefined;
  /** Whether KEY_PEPPER and KEY_BRAND may differ from those of the keys in the database. */
  readonly keyPepperChanged: boolean;
}

/** The settings of a process that never sees an API key. */
export interface WorkerConfig {
  readonly host: string;
  readonly port: number;
  readonly adminPort: number;
  readonly workerAdminPort: number;
  readonly bulkAdminPort: number;
  readonly consolePort: number;
  /** Where people open the console. Undefined when not set: the console then uses the address that it listens on. */
  readonly consoleUrl: string | undefined;
  /** Undefined when not set: `npm start` then runs private servers, and the CLI looks for those. */
  readonly redisUrl: string | undefined;
  readonly mongoUrl: string | undefined;
  /** Without a trailing slash. Undefined when not set: the gateway then uses the address that it listens on. */
  readonly baseUrl: string | undefined;
  readonly docsUrl: string | undefined;
  readonly keyBrand: string;
  /** Addresses and ranges (`10.0.0.0/8`) of the proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies: readonly string[];
  /** Worker processes in one pool. */
  readonly workers: number;
  /** Worker processes of one pool that serve bulk jobs alone. */
  readonly bulkWorkers: number;
  /** Number of partitions of the queues; see shared/messages/partitions.ts. */
  readonly partitions: number;
  /** Whether workers of batches and of bulk jobs, and runners, run at a lower priority than singles. */
  readonly lowersPriority: boolean;
  readonly requestTimeoutMs: number;
  readonly webhookTimeoutMs: number;
  readonly bodyTimeoutMs: number;
  readonly maxBodyBytes: number;
  readonly legacyAliases: 'serve' | 'gone';
  readonly logLevel: string;
  readonly retentionDays: number;
  /** Whether reads of leads leave an entry in the audit log. */
  readonly auditsReads: boolean;
  /** Days after which an entry of the audit log is removed. Undefined when not set: it stays. */
  readonly auditRetentionDays: number | undefined;
  /** Days after which an ended bulk job is removed with its files. */
  readonly jobRetentionDays: number;
  /** Production values, except in tests. */
  readonly timings: Timings;
  /** Added to the machine's clock. Only for rehearsals and tests. */
  readonly clockOffsetMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** An unusable setting. The message names the variable and what it must be. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** KEY_BRAND where it is not set. */
export const defaultKeyBrand = 'leadscore';

/** The problem of a process that makes or checks keys. */
export const noPepper = 'KEY_PEPPER must be set to 16 or more characters: API keys are stored as hashes made with it';

/**
 * Reads all settings of a gateway.
 * @throws ConfigError that names the first unusable variable
 */
export function readConfig(environment: Environment = process.env): Config {
  const { keyPepper, ...config } = readOperatorConfig(environment);
  if (keyPepper === undefined) throw new ConfigError(noPepper);
  return Object.freeze({ ...config, keyPepper, oidc: new Reader(environment).oidc() });
}

/**
 * As `readConfig`, with or without KEY_PEPPER.
 * @param cores the default of WORKERS
 */
export function readOperatorConfig(environment: Environment = process.env, cores = 2): OperatorConfig {
  const config = readWorkerConfig(environment, cores);
  const read = new Reader(environment);
  const keyPepperChanged = read.choice('KEY_PEPPER_CHANGED', ['no', 'yes'] as const) === 'yes';
  const [keyPepper, keyPepperPrevious] = [read.pepper('KEY_PEPPER'), read.pepper('KEY_PEPPER_PREVIOUS')];
  if (keyPepperPrevious !== undefined) refuseUselessPrevious(keyPepper, keyPepperPrevious, keyPepperChanged);
  return Object.freeze({ ...config, keyPepper, keyPepperPrevious, keyPepperChanged });
}

function refuseUselessPrevious(pepper: string | undefined, previous: string, isChanged: boolean): void {
  if (pepper === previous)
    throw new ConfigError('KEY_PEPPER_PREVIOUS is KEY_PEPPER: it must be the pepper of before, or not be set');
  if (isChanged)
    throw new ConfigError(
      'KEY_PEPPER_PREVIOUS keeps the keys of the previous pepper, and KEY_PEPPER_CHANGED=yes makes them void: set one of them',
    );
}

/** As `readConfig`, without the pepper: workers must not know it. */
export function readWorkerConfig(environment: Environment = process.env, cores = 2): WorkerConfig {
  const read = new Reader(environment);
  return Object.freeze({
    host: read.text('HOST', '127.0.0.1'),
    port: read.integer('PORT', 8080, 0, 65535),
    adminPort: read.integer('ADMIN_PORT', 9464, 0, 65535),
    bulkAdminPort: read.integer('BULK_ADMIN_PORT', 9466, 0, 65535),
    workerAdminPort: read.integer('WORKER_ADMIN_PORT', 9465, 0, 65535),
    consolePort: read.integer('CONSOLE_PORT', 8081, 0, 65535),
    consoleUrl: read.url('CONSOLE_URL', webOrigins)?.replace(/\/+$/, ''),
    redisUrl: read.url('REDIS_URL', redisAddresses),
    mongoUrl: read.url('MONGODB_URL', mongoAddresses),
    baseUrl: read.url('BASE_URL', webAddresses)?.replace(/\/+$/, ''),
    docsUrl: read.url('DOCS_URL', webAddresses)?.replace(/\/+$/, ''),
    keyBrand: read.matching(
      'KEY_BRAND',
      defaultKeyBrand,
      /^[a-z][a-z0-9]{0,30}$/,
      '1-31 lower-case letters and digits',
    ),
    trustedProxies: read.addresses('TRUSTED_PROXIES'),
    workers: read.integer('WORKERS', cores, 1, 256),
    bulkWorkers: read.integer('BULK_WORKERS', read.integer('WORKERS', cores, 1, 256), 0, 256),
    partitions: read.integer('LANES', 1, 1, maxPartitions),
    lowersPriority: read.choice('LOWER_PRIORITY', ['yes', 'no'] as const) === 'yes',
    requestTimeoutMs: read.integer('REQUEST_TIMEOUT_MS', 10_000, 100, 300_000),
    webhookTimeoutMs: read.integer('WEBHOOK_TIMEOUT_MS', 8_000, 100, 300_000),
    bodyTimeoutMs: read.integer('BODY_TIMEOUT_MS', 30_000, 100, 600_000),
    maxBodyBytes: read.integer('MAX_BODY_BYTES', 8 * 1024 * 1024, 1024, 256 * 1024 * 1024),
    legacyAliases: read.choice('LEGACY_ALIASES', ['serve', 'gone'] as const),
    logLevel: read.choice('LOG_LEVEL', ['info', 'silent', 'fatal', 'error', 'warn', 'debug', 'trace'] as const),
    retentionDays: read.integer('RETENTION_DAYS', 760, 1, 36_500),
    auditsReads: read.choice('AUDIT_READS', ['yes', 'no'] as const) === 'yes',
    auditRetentionDays: read.optionalInteger('AUDIT_RETENTION_DAYS', 90, 36_500),
    jobRetentionDays: read.integer('JOB_RETENTION_DAYS', 7, 1, 365),
    timings: timingsAt(read.integer('TEST_TIMINGS_PERCENT', 100, 5, 100)),
    clockOffsetMs: read.integer('CLOCK_OFFSET_MS', 0, -3_200_000_000_000, 3_200_000_000_000),
  });
}

/** This process's environment for a child process, with changes; undefined removes a variable. */
export function childEnvironment(changes: Environment): Record<string, string> {
  const merged = { ...process.env, ...changes };
  return Object.fromEntries(
    Object.entries(merged).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** The settings that a worker process reads. It gets only their variables. */
export type ChildConfig = Pick<WorkerConfig, keyof typeof variablesOfChild>;

const variablesOfChild = {
  redisUrl: 'REDIS_URL',
  mongoUrl: 'MONGODB_URL',
  logLevel: 'LOG_LEVEL',
  retentionDays: 'RETENTION_DAYS',
  partitions: 'LANES',
  lowersPriority: 'LOWER_PRIORITY',
  timings: 'TEST_TIMINGS_PERCENT',
} as const satisfies Partial<Record<keyof WorkerConfig, string>>;

/** The variables of a worker process: its own settings, and those that Node and the system need. */
const namesForWorkers: ReadonlySet<string> = new Set([
  ...Object.values(variablesOfChild),
  ...['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'TZ', 'LANG', 'LC_ALL', 'SystemRoot', 'LD_LIBRARY_PATH'],
  ...['NODE_ENV', 'NODE_OPTIONS', 'NODE_EXTRA_CA_CERTS', 'NODE_V8_COVERAGE', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
]);

/**
 * The environment of a process that runs customers' models: without the pepper and other variables it does not need.
 */
export function workerEnvironment(environment: Environment = process.env): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && namesForWorkers.has(entry[0]),
    ),
  );
}

/**
 * Turns off ONNX Runtime's telemetry, which sends file names, graph names, hashes and run counts of models to
 * Microsoft. ONNX Runtime reads this variable when a process makes its first session.
 */
export function silenceOnnxRuntime(): void {
  process.env.ORT_DISABLE_TELEMETRY = '1';
}

class Reader {
  constructor(private readonly environment: Environment) {}

  text(name: string, fallback: string): string {
    const value = this.environment[name];
    return value === undefined || value === '' ? fallback : value;
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const text = this.text(name, String(fallback));
    const value = Number(text);
    if (/^-?\d+$/.test(text) && value >= min && value <= max) return value;
    throw new ConfigError(`${name} must be a whole number from ${min} to ${max}, but is "${text}"`);
  }

  /** A whole number; undefined when not set. */
  optionalInteger(name: string, min: number, max: number): number | undefined {
    return this.text(name, '') === '' ? undefined : this.integer(name, min, min, max);
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

  /** The error does not show the address: it may contain a password. */
  url(name: string, { protocols, isValid, form }: AddressKind): string | undefined {
    const text = this.text(name, '');
    if (text === '') return undefined;
    if (!protocols.some((protocol) => text.startsWith(protocol)))
      throw new ConfigError(`${name} must be an address that starts with ${protocols.join(' or ')}`);
    if (isValid(text)) return text;
    throw new ConfigError(`${name} cannot be read: it must be ${form}`);
  }

  addresses(name: string): string[] {
    const entries = this.text(name, '')
      .split(',')
      .map((entry) => entry.trim());
    return entries.filter((entry) => {
      if (entry === '') return false;
      const [address = '', bits] = entry.split('/');
      const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
      if (maxBits > 0 && (bits === undefined || (/^[1-9]\d*$/.test(bits) && Number(bits) <= maxBits))) return true;
      throw new ConfigError(
        `${name} must be addresses or ranges such as 10.0.0.0/8, separated by commas, but has "${entry}"`,
      );
    });
  }

  /** All three variables or none. Plain HTTP only on loopback: codes and secrets go over it. */
  oidc(): OidcConfig | undefined {
    const issuer = this.url('CONSOLE_OIDC_ISSUER', webAddresses);
    const clientId = this.text('CONSOLE_OIDC_CLIENT_ID', '');
    const clientSecret = this.text('CONSOLE_OIDC_CLIENT_SECRET', '');
    if (issuer === undefined && clientId === '' && clientSecret === '') return undefined;
    if (issuer === undefined || clientId === '' || clientSecret === '')
      throw new ConfigError(
        'CONSOLE_OIDC_ISSUER, CONSOLE_OIDC_CLIENT_ID and CONSOLE_OIDC_CLIENT_SECRET must be set together',
      );
    const { protocol, hostname } = new URL(issuer);
    if (protocol === 'https:' || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
      return { issuer, clientId, clientSecret };
    throw new ConfigError('CONSOLE_OIDC_ISSUER must begin with https://, except on loopback');
  }

  pepper(name: 'KEY_PEPPER' | 'KEY_PEPPER_PREVIOUS'): string | undefined {
    const pepper = this.text(name, '');
    if (pepper === '') return undefined;
    if (pepper.trim().length >= 16) return pepper;
    throw new ConfigError(`${name} must have at least 16 characters, not counting spaces at its ends`);
  }
}
