import type { ProcessKind } from '../redis/running-processes.js';
import { fingerprintOf } from '../store/accounts/key-settings.js';
import type { WorkerConfig } from './config.js';

/** A setting that must be the same for all processes of these kinds. */
export interface AgreeingSetting {
  /** The variable. */
  readonly name: string;
  readonly kinds: readonly ProcessKind[];
  /** Its value as a text that may be shown; undefined when the process does not have it. */
  readonly textOf: (config: WorkerConfig & { readonly keyPepper?: string | undefined }) => string | undefined;
  /** The harm when it differs. */
  readonly harm: string;
}

const all: readonly ProcessKind[] = ['gateway', 'pool', 'bulk', 'console'];
const withKeys: readonly ProcessKind[] = ['gateway', 'console'];

export const agreeingSettings: readonly AgreeingSetting[] = [
  {
    name: 'LANES',
    kinds: all,
    textOf: ({ partitions }) => String(partitions),
    harm: 'Calls use the partitions of the smallest number alone, so worker processes of the others have no work.',
  },
  {
    name: 'REQUEST_TIMEOUT_MS',
    kinds: all,
    textOf: ({ requestTimeoutMs }) => String(requestTimeoutMs),
    harm: 'Calls have another deadline at each. A process whose leases (three times the longer timeout) differ does not start.',
  },
  {
    name: 'WEBHOOK_TIMEOUT_MS',
    kinds: all,
    textOf: ({ webhookTimeoutMs }) => String(webhookTimeoutMs),
    harm: 'Calls have another deadline at each. A process whose leases (three times the longer timeout) differ does not start.',
  },
  {
    name: 'RETENTION_DAYS',
    kinds: ['gateway', 'pool', 'bulk'],
    textOf: ({ retentionDays }) => String(retentionDays),
    harm: 'Each pool takes its turn at retention, so predictions go after the fewest days that any pool has.',
  },
  {
    name: 'JOB_RETENTION_DAYS',
    kinds: ['gateway', 'bulk'],
    textOf: ({ jobRetentionDays }) => String(jobRetentionDays),
    harm: 'The files of a bulk job are removed earlier or later, by the process that ended the job.',
  },
  {
    name: 'KEY_BRAND',
    kinds: withKeys,
    textOf: ({ keyBrand }) => keyBrand,
    harm: 'Keys with the other brand get 401.',
  },
  {
    name: 'KEY_PEPPER',
    kinds: withKeys,
    textOf: ({ keyPepper }) => keyPepper && fingerprintOf(keyPepper),
    harm: 'Keys made with the other pepper get 401, and leads erased under it are not found after a restore.',
  },
  {
    name: 'MAX_BODY_BYTES',
    kinds: ['gateway'],
    textOf: ({ maxBodyBytes }) => String(maxBodyBytes),
    harm: 'The same call is accepted by one gateway and refused by another.',
  },
  {
    name: 'LEGACY_ALIASES',
    kinds: ['gateway'],
    textOf: ({ legacyAliases }) => legacyAliases,
    harm: 'The old addresses work on one gateway and answer 410 on another.',
  },
  {
    name: 'CLOCK_OFFSET_MS',
    kinds: all,
    textOf: ({ clockOffsetMs }) => String(clockOffsetMs),
    harm: 'Processes date calls by different clocks, so months and the latest score of a lead are wrong.',
  },
];

/** The settings of one process that must agree with those of others, by variable. The pepper is a fingerprint. */
export const settingsToCompare = (kind: ProcessKind, config: WorkerConfig): Record<string, string> =>
  Object.fromEntries(
    agreeingSettings.flatMap(({ name, kinds, textOf }) => {
      const value = kinds.includes(kind) ? textOf(config) : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );
