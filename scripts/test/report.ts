/** Counts of tests. */
export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Reported extends Totals {
  readonly name: string;
  readonly failures: string;
  readonly fileMs: ReadonlyMap<string, number>;
}

export function totalsOf(groups: readonly Totals[]): Totals {
  const sum = (count: (group: Totals) => number) => groups.reduce((total, group) => total + count(group), 0);
  return {
    passed: sum((group) => group.passed),
    failed: sum((group) => group.failed),
    skipped: sum((group) => group.skipped),
  };
}

/** `.ci/run` reads this form. */
export const totalsText = ({ passed, failed, skipped }: Totals): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`;

/** The failures of all processes again, under their names; empty without any. */
export const failuresText = (groups: readonly Reported[]): string =>
  groups.map(({ name, failures }) => (failures === '' ? '' : `\n== Failures: ${name}\n${failures}`)).join('');

const secondsText = (ms: number): string => (ms / 1_000).toFixed(1).padStart(7);

/** Seconds of each process and of each file, longest first. */
export function timesText(groups: readonly Reported[]): string {
  const blocks = groups.map(({ name, fileMs }) => {
    const files = [...fileMs].sort(([, one], [, other]) => other - one);
    const totalMs = files.reduce((sum, [, ms]) => sum + ms, 0);
    return [`${secondsText(totalMs)} ${name}`, ...files.map(([file, ms]) => `${secondsText(ms)}   ${file}`)].join('\n');
  });
  return `${blocks.join('\n\n')}\n`;
}
