import type { ExplainedRows } from '../shared/score-job.js';

const tenThousandths = 10_000;
const reasons = 3;
/** Characters of a value that a sentence carries. */
const longestInSentence = 100;

/** One driver, as the workers write it. */
interface Driver {
  readonly place: number;
  readonly contribution: number;
  readonly value: string;
}

/**
 * Writes what explains a row: `drivers` and `top_reason_1..3`, as members to be put after others. Every member of a
 * driver is text, since some CRMs (Salesforce) cannot read members of mixed types.
 * @param explained of one part; undefined when nobody asked
 * @returns a function from the row in the part to its members, each with a comma before it; nothing when nobody asked
 */
export function driverMembers(explained: ExplainedRows | undefined): (row: number) => string {
  if (explained === undefined) return () => '';
  const forms = explained.fields.map(([field, label]) => ({
    label,
    head: `{"field":${JSON.stringify(field)},"value":`,
    tail: `,"label":${JSON.stringify(label)}}`,
  }));
  return (row) => {
    const drivers = driversOf(explained.drivers[row] ?? []);
    const written = drivers.flatMap(({ place, contribution, value }) => {
      const form = forms[place];
      if (form === undefined) return [];
      const number = (contribution / tenThousandths).toFixed(4);
      const direction = contribution < 0 ? 'negative' : 'positive';
      return `${form.head}${JSON.stringify(value)},"contribution":"${number}","direction":"${direction}"${form.tail}`;
    });
    let members = `,"drivers":[${written.join(',')}]`;
    for (let rank = 0; rank < reasons; rank += 1) {
      const driver = drivers[rank];
      const reason = driver === undefined ? null : reasonOf(driver, forms[driver.place]?.label ?? '');
      members += `,"top_reason_${rank + 1}":${JSON.stringify(reason)}`;
    }
    return members;
  };
}

function driversOf(packed: readonly (number | string)[]): Driver[] {
  const drivers: Driver[] = [];
  for (let at = 0; at + 2 < packed.length; at += 3)
    drivers.push({
      place: Number(packed[at]),
      contribution: Number(packed[at + 1]),
      // Many readers of JSON refuse half of a surrogate pair, even escaped.
      value: String(packed[at + 2]).toWellFormed(),
    });
  return drivers;
}

/** What is so and where it moves the score; never that the one is the cause of the other. */
function reasonOf({ contribution, value }: Driver, label: string): string {
  const state = value.trim() === '' ? 'is missing' : `is ${shortened(value)}`;
  return `${label} ${state} (${contribution < 0 ? 'lowers' : 'raises'} the score)`;
}

function shortened(value: string): string {
  const line = value.trim().replace(/\s+/g, ' ');
  if (line.length <= longestInSentence) return line;
  const kept = line.slice(0, longestInSentence - 1);
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}
