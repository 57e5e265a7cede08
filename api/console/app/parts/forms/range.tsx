import { useEffect, useState } from 'preact/hooks';
import type { DayRange } from '../../server/use-range.js';
import { Choice } from '../choice.js';
import { Field } from './field.js';

const dayMs = 86_400_000;
const textOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

/** The last days, today included. */
export function lastDays(count: number): DayRange {
  const nowMs = Date.now();
  return { from: textOf(nowMs - (count - 1) * dayMs), to: textOf(nowMs) };
}

function months(): Readonly<Record<'this month' | 'last month', DayRange>> {
  const [year, month] = [new Date().getUTCFullYear(), new Date().getUTCMonth()];
  return {
    'this month': { from: textOf(Date.UTC(year, month, 1)), to: textOf(Date.now()) },
    'last month': { from: textOf(Date.UTC(year, month - 1, 1)), to: textOf(Date.UTC(year, month, 0)) },
  };
}

/** The number of days of a range. */
export const lengthOf = ({ from, to }: DayRange): number => (Date.parse(to) - Date.parse(from)) / dayMs + 1;

const textOfDays = (range: DayRange | undefined): string => `${range?.from} ${range?.to}`;

/** Chooses days: the last ones, a month, or any two dates. */
export function RangeChoice(props: {
  readonly range: DayRange | undefined;
  readonly set: (range: DayRange | undefined) => void;
  /** The most days; without it any number. */
  readonly most?: number;
  /** Also offers all days. */
  readonly hasAll?: boolean;
}) {
  const { range, set, most = Number.POSITIVE_INFINITY, hasAll = false } = props;
  /** The days for which a person chose own dates. The button "Back" leads to others. */
  const [own, setOwn] = useState<string>();
  const presets: Readonly<Record<string, DayRange | undefined>> = {
    ...(hasAll ? { 'all days': undefined } : {}),
    ...Object.fromEntries(
      [7, 30, 90].filter((count) => count <= most).map((count) => [`${count} days`, lastDays(count)]),
    ),
    ...months(),
  };
  const preset = Object.entries(presets).find(([, each]) => each?.from === range?.from && each?.to === range?.to)?.[0];
  const chosen = preset === undefined || own === textOfDays(range) ? 'own dates' : preset;
  const choose = (option: string) => {
    setOwn(option === 'own dates' ? textOfDays(range) : undefined);
    if (option !== 'own dates') set(presets[option]);
  };
  const setDates = (dates: DayRange) => {
    setOwn(textOfDays(dates));
    set(dates);
  };
  return (
    <div class="range">
      <Choice label="Days" options={[...Object.keys(presets), 'own dates']} chosen={chosen} choose={choose} />
      {chosen === 'own dates' && <OwnDates range={range ?? lastDays(30)} set={setDates} most={most} />}
    </div>
  );
}

/** Two dates. They count once they are days in the right order, and not too many. */
function OwnDates(props: { readonly range: DayRange; readonly set: (range: DayRange) => void; readonly most: number }) {
  const { from, to } = props.range;
  const [draft, setDraft] = useState(props.range);
  useEffect(() => setDraft({ from, to }), [from, to]);
  const faultOf = (range: DayRange): string | undefined => {
    const length = lengthOf(range);
    if (Number.isNaN(length)) return 'Choose both dates.';
    if (length < 1) return 'The last day is before the first.';
    return length > props.most ? `Choose at most ${props.most} days.` : undefined;
  };
  const change = (changed: Partial<DayRange>) => {
    const range = { ...draft, ...changed };
    setDraft(range);
    if (faultOf(range) === undefined) props.set(range);
  };
  return (
    <div class="form">
      <Field label="First day (UTC)" type="date" value={draft.from} set={(from) => change({ from })} />
      <Field
        label="Last day (UTC)"
        type="date"
        value={draft.to}
        set={(to) => change({ to })}
        warning={faultOf(draft)}
      />
    </div>
  );
}
