import type { FileTimes } from './file-times.js';

/** Test files that one Mocha process runs. */
export interface TestGroup {
  readonly name: string;
  /** Paths as of `testFiles`. */
  readonly files: readonly string[];
}

/** The groups of a run. */
export interface TestGroups {
  /**
   * They need a core each. The one that takes longest stands first, though it waits more than it works: one that began
   * last would run on beside idle cores.
   */
  readonly working: readonly TestGroup[];
  /** They wait more than they work, so one of them can run beside the others. */
  readonly waiting: readonly TestGroup[];
  /** They measure the machine, so nothing runs beside them. */
  readonly alone: readonly TestGroup[];
}

/** The kind of a file by what it shares with others and is costly to start: each kind has groups of its own. */
const kinds: readonly (readonly [kind: string, matches: (file: string, text: string) => boolean])[] = [
  ['alone', (file) => measuresMachine.test(file)],
  // A shared service would idle beside the services of other files.
  ['shared faults', (file, text) => harms.test(file) && /sharedFaultService\(/i.test(text)],
  ['faults', (file) => harms.test(file)],
  ['entry', (file) => file.startsWith('dist/test/entry/')],
  ['console', (_, text) => /\b(consoleService|sharedConsole\w*)\(/.test(text)],
  ['two gateways', (_, text) => /['"](twoGateways|disposable)['"]/.test(text)],
  ['bulk', (_, text) => /sharedService\(['"]bulk['"]\)/.test(text)],
  ['short timeouts', (_, text) => /\bonShortTimeouts\(|['"]shortTimeouts['"]/.test(text)],
  ['service', (_, text) => /\b(runningService\(\)|onOwnWorkspace\(|sharedService\(|describeBadInputs\()/.test(text)],
  ['units', () => true],
];

const harms = /^dist\/test\/(faults|deploys)\//;
const measuresMachine = /^dist\/test\/(overload\/(flood|attack)\.full|chaos\/chaos(-on-cluster)?(\.full)?)\.test\.js$/;

/** Processor time of a group. A shorter group would not make up for the start of its process and of its service. */
const groupSeconds = 120;

/**
 * Divides test files into groups of about the same time.
 * @param times measured processor time by file
 * @param textOf reads a file
 */
export function testGroups(files: readonly string[], times: FileTimes, textOf: (file: string) => string): TestGroups {
  const kindOf = (file: string) => {
    const text = textOf(file);
    return kinds.find(([, matches]) => matches(file, text))?.[0];
  };
  const known = files.map((file) => ({ file, kind: kindOf(file) }));
  const groupsOf = (kind: string, count?: number) => {
    const ofKind = known.filter((each) => each.kind === kind).map(({ file }) => file);
    return divided(kind, ofKind, times, count);
  };
  const working = [
    ...['units', 'console', 'service', 'two gateways', 'bulk', 'short timeouts'].flatMap((kind) => groupsOf(kind)),
    ...groupsOf('entry', 1),
  ];
  const durationOf = ({ files }: TestGroup) => sum(files, (file) => times.durationOf(file));
  const longestFirst = (groups: readonly TestGroup[]) =>
    groups.toSorted((one, other) => durationOf(other) - durationOf(one));
  return {
    working: longestFirst(working),
    waiting: longestFirst([...groupsOf('shared faults'), ...groupsOf('faults')]),
    alone: groupsOf('alone', 1),
  };
}

/** Gives each file, the longest first, to the group that has the least so far. */
function divided(
  kind: string,
  files: readonly string[],
  times: FileTimes,
  count = Math.max(1, Math.round(sum(files, (file) => times.secondsOf(file)) / groupSeconds)),
): TestGroup[] {
  const groups = Array.from({ length: count }, () => ({ files: [] as string[], seconds: 0 }));
  const longestFirst = files.toSorted((one, other) => times.secondsOf(other) - times.secondsOf(one));
  for (const file of longestFirst) {
    const shortest = groups.reduce((least, group) => (group.seconds < least.seconds ? group : least));
    shortest.files.push(file);
    shortest.seconds += times.secondsOf(file);
  }
  return groups
    .filter((group) => group.files.length > 0)
    .map((group, index) => ({
      name: count === 1 ? kind : `${kind} ${index + 1}/${count}`,
      files: group.files.toSorted(),
    }));
}

const sum = (files: readonly string[], secondsOf: (file: string) => number): number =>
  files.reduce((total, file) => total + secondsOf(file), 0);
