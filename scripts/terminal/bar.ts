const eighths = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'] as const;

/**
 * A horizontal bar of block characters, with a precision of an eighth of a character.
 * @param fraction clamped to 0..1. Any value above 0 shows at least an eighth
 * @param width in characters
 */
export function bar(fraction: number, width: number): string {
  const share = Math.min(1, Math.max(0, Number.isFinite(fraction) ? fraction : 0));
  const filled = Math.max(share > 0 ? 1 : 0, Math.round(share * width * 8));
  return '█'.repeat(Math.floor(filled / 8)) + (eighths[filled % 8] ?? '');
}

/** A bar padded to its whole width with light blocks. */
export function gauge(fraction: number, width: number): string {
  return bar(fraction, width).padEnd(width, '░');
}
