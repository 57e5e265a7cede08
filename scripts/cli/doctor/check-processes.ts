import { agreeingSettings } from '../../../shared/config/agreeing-settings.js';
import { maxSkewMs } from '../../../shared/process/clock-watch.js';
import type { NotedProcess } from '../../../shared/redis/process-register.js';
import { processKinds, processNames } from '../../../shared/redis/running-processes.js';
import { clockFinding } from './check-redis.js';
import { type Checked, type Finding, freeText, isNearlyFull } from './finding.js';

/** Something that has settings: a process, this command, or the database. */
export interface Participant {
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
}

const nameOf = ({ kind, host, pid }: NotedProcess): string => `${processNames[kind][0]} ${host}:${pid}`;

/** A deploy has certainly ended when no process has started for this long. */
const deployMs = 15 * 60_000;
/** A pool starts its worker processes within this time. */
const startMs = 60_000;
/** A pool sweeps every four seconds. */
const maxSweepAgeMs = 60_000;

/** Checks the running processes against each other. */
export const checkProcesses = (processes: readonly NotedProcess[], others: readonly Participant[]): Checked => ({
  facts: [['Processes', countsOf(processes)]],
  findings: [
    ...missingPool(processes),
    ...differences([...processes.map((each) => ({ name: nameOf(each), settings: each.settings })), ...others]),
    ...mixedReleases(processes),
    ...processes.flatMap(ofProcess),
  ],
});

/** @param lastMsAgo undefined without any sweep */
export function checkSweeps(processes: readonly NotedProcess[], lastMsAgo: number | undefined): readonly Finding[] {
  const isExpected = processes.some(({ kind, upMs }) => kind === 'pool' && upMs > maxSweepAgeMs);
  if (!isExpected || (lastMsAgo ?? Number.POSITIVE_INFINITY) < maxSweepAgeMs) return [];
  return [
    {
      code: 'no_sweep',
      problem: 'No pool has swept leases for a minute',
      harm: 'Calls of gateways that died stay uncounted, and their quota stays held.',
      remedy: 'Look for "sweep failed" in the logs of the pools.',
    },
  ];
}

function countsOf(processes: readonly NotedProcess[]): string {
  if (processes.length === 0) return 'none is running';
  const counts = processKinds.flatMap((kind) => {
    const count = processes.filter((each) => each.kind === kind).length;
    return count === 0 ? [] : [`${count} ${processNames[kind][count === 1 ? 0 : 1]}`];
  });
  return `${counts.join(', ')}; release ${[...new Set(processes.map(({ release }) => release))].join(', ')}`;
}

function missingPool(processes: readonly NotedProcess[]): Finding[] {
  if (processes.length === 0 || processes.some(({ kind }) => kind === 'pool')) return [];
  return [
    {
      code: 'no_pool',
      problem: 'No worker pool is running on this Redis',
      harm: 'Nothing scores: calls get 500, and bulk jobs wait.',
      remedy: 'Start a pool with the same REDIS_URL and MONGODB_URL.',
    },
  ];
}

function differences(participants: readonly Participant[]): Finding[] {
  return agreeingSettings.flatMap(({ name, harm }) => {
    const groups = new Map<string, string[]>();
    for (const { name: who, settings } of participants) {
      const value = settings[name];
      if (value !== undefined) groups.set(value, [...(groups.get(value) ?? []), who]);
    }
    if (groups.size < 2) return [];
    // A fingerprint tells a reader nothing.
    const label = (value: string, index: number) => (name === 'KEY_PEPPER' ? `value ${index + 1}` : value);
    const shown = [...groups].map(([value, names], index) => `${label(value, index)} for ${names.join(', ')}`);
    return [
      {
        code: 'settings_differ',
        problem: `${name} differs: ${shown.join('; ')}`,
        harm,
        remedy: `Set the same ${name} for all of them, and restart those that had another.`,
      },
    ];
  });
}

function mixedReleases(processes: readonly NotedProcess[]): Finding[] {
  const releases = [...new Set(processes.map(({ release }) => release))];
  const youngestMs = Math.min(...processes.map(({ upMs }) => upMs));
  if (releases.length < 2 || youngestMs < deployMs) return [];
  const shown = releases.map(
    (release) =>
      `${release} for ${processes
        .filter((each) => each.release === release)
        .map(nameOf)
        .join(', ')}`,
  );
  return [
    {
      code: 'releases_differ',
      problem: `Processes run different releases, and none has started for 15 minutes: ${shown.join('; ')}`,
      harm: 'A deploy has not ended. The next release need not work beside the oldest of these.',
      remedy: 'Restart the processes of the older release on the newer one.',
    },
  ];
}

function ofProcess(noted: NotedProcess): Finding[] {
  const { clockAheadMs, disk, workers, upMs } = noted;
  const findings: Finding[] = [];
  if (clockAheadMs !== null && Math.abs(clockAheadMs) > maxSkewMs)
    findings.push(clockFinding(`The clock of ${nameOf(noted)}`, clockAheadMs));
  if (disk !== null && isNearlyFull(disk.freeBytes, disk.totalBytes))
    findings.push({
      code: 'disk',
      problem: `The disk of ${nameOf(noted)} is nearly full: ${freeText(disk.freeBytes, disk.totalBytes)} in ${disk.path}`,
      harm: 'Logs are lost, and a pool cannot start worker processes without its temporary files.',
      remedy: 'Remove old logs and temporary files there, or make the disk larger.',
    });
  // Workers of bulk jobs start on demand, at any time.
  const idle = Object.entries(workers ?? {}).filter(
    ([lane, { wanted, ready }]) => lane !== 'bulk' && wanted > 0 && ready === 0,
  );
  if (idle.length > 0 && upMs > startMs)
    findings.push({
      code: 'no_worker',
      problem: `No worker process of ${nameOf(noted)} is ready for ${idle.map(([lane]) => lane).join(', ')}`,
      harm: 'Other pools score the calls of these lanes. Without one, these calls get 500.',
      remedy: 'Look for "a worker died" in the log of that pool.',
    });
  return findings;
}
