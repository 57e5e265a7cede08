const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/**
 * A horizontal bar of block characters, exact to an eighth of a character.
 * @param fraction how much of the width is filled; kept within 0 and 1. Anything above 0 shows at least an eighth
 * @param width in characters
 */
export function bar(fraction: number, width: number): string {
  const kept = Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0));
  const filled = Math.max(kept > 0 ? 1 : 0, Math.round(kept * width * 8));
  return '█'.repeat(Math.floor(filled / 8)) + (eighths[filled % 8] ?? '');
}

/** A bar padded to its whole width with light dots, so that the part left can be seen. */
export function gauge(fraction: number, width: number): string {
  return bar(fraction, width).padEnd(width, '░');
}
