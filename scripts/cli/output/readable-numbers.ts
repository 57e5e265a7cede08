export { countText } from '../../../shared/contract/figures.js';

/** At most two units: `0.8 s`, `12 s`, `3 min 05 s`, `2 h 10 min`. */
export function readableDuration(durationMs: number): string {
  const seconds = durationMs / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${twoDigits(whole % 60)} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} min`;
}

/** One binary unit: `512 B`, `2.4 MiB`. */
export function readableBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let rest = bytes;
  let unit = 0;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${rest} B` : `${rest.toFixed(1)} ${units[unit]}`;
}

/** In UTC, as `2026-03-01 14:05`, or `2026-03-01` at midnight. */
export function readableDate(date: Date): string {
  const text = date.toISOString();
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 16)}`;
}

const twoDigits = (value: number): string => String(value).padStart(2, '0');
