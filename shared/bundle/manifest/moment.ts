import { dayMs } from '../../contract/dates.js';

/** The Unix milliseconds that a date of a manifest covers: a whole UTC day without a time, else one instant. */
interface Moment {
  readonly firstMs: number;
  readonly lastMs: number;
}

const iso8601 = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d+))?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/;

/** Reads a date of ISO 8601, with or without a time; UTC without a zone. Undefined if it is none. */
export function momentOf(text: string): Moment | undefined {
  const [, day = '', time, seconds = '00', fraction = '0', zone = 'Z'] = iso8601.exec(text) ?? [];
  const minuteMs = Date.parse(`${day}T${time ?? '00:00'}Z`);
  // Date.parse reads the 30th of February as the 2nd of March: the day must survive the round trip.
  if (Number.isNaN(minuteMs) || !new Date(minuteMs).toISOString().startsWith(day)) return undefined;
  if (time === undefined) return { firstMs: minuteMs, lastMs: minuteMs + dayMs - 1 };
  const offset = zone === 'Z' ? zone : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  const exactMs = Date.parse(`${day}T${time}:${seconds}.${fraction.slice(0, 3)}${offset}`);
  // A leap second, or an offset of more than a day.
  const atMs = Number.isNaN(exactMs) ? minuteMs : exactMs;
  return { firstMs: atMs, lastMs: atMs };
}
